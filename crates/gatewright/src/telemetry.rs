//! Logs, metrics and panics: what is emitted anywhere is installed here.
//!
//! Logs go to standard error, so that standard output is a command's own.

use std::{
    convert::Infallible,
    io::{self, IsTerminal, Write},
    panic,
    time::Duration,
};

use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};
use tracing::{Level, Metadata};
use tracing_subscriber::{EnvFilter, filter::filter_fn, fmt, prelude::*};

use crate::config::{Config, LogFormat};

/// From a look-up in memory to a long generation.
const SECONDS: &[f64] = &[
    0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
    60.0, 120.0, 300.0,
];

/// The crates that keep secrets and bodies out of what they say.
const OURS: [&str; 7] = [
    "domain",
    "engine",
    "providers",
    "documents",
    "store",
    "api",
    env!("CARGO_PKG_NAME"),
];

const UPKEEP: Duration = Duration::from_secs(5);

/// Starts to write logs as configured. Called once.
pub(crate) fn install_logs(config: &Config) {
    let is_json = match config.options.log.format {
        LogFormat::Json => true,
        LogFormat::Text => false,
        LogFormat::Auto => !io::stderr().is_terminal(),
    };
    let filter = EnvFilter::new(&config.log_filter);
    let lines = fmt::layer().with_writer(io::stderr);
    let lines = if is_json {
        lines
            .json()
            .flatten_event(true)
            .with_span_list(false)
            .boxed()
    } else {
        lines.with_ansi(io::stderr().is_terminal()).boxed()
    };
    tracing_subscriber::registry()
        .with(filter)
        .with(lines.with_filter(filter_fn(may_be_told)))
        .init();
}

/// Crates of others tell at their finer levels what passes through them: heads, addresses, what is signed. They are heard
/// of what happened, whatever the filter asks for.
fn may_be_told(event: &Metadata<'_>) -> bool {
    let origin = event.target().split("::").next();
    *event.level() <= Level::INFO || origin.is_some_and(|origin| OURS.contains(&origin))
}

/// Starts to count. The handle renders what was counted; somebody has to [`keep_up`] with it.
pub(crate) fn install_metrics() -> Result<PrometheusHandle, BuildError> {
    let durations = Matcher::Suffix("_seconds".to_owned());
    PrometheusBuilder::new()
        .set_buckets_for_metric(durations, SECONDS)?
        .install_recorder()
}

/// Takes in what was measured, again and again: without it, durations pile up until somebody asks for them.
pub(crate) async fn keep_up(metrics: &PrometheusHandle) -> Infallible {
    let mut ticks = tokio::time::interval(UPKEEP);
    loop {
        ticks.tick().await;
        metrics.run_upkeep();
    }
}

/// Has a panic say where it happened, and nothing of what it was about: that may be a prompt or a key.
pub(crate) fn install_panic_hook() {
    panic::set_hook(Box::new(|panic| {
        let place = panic
            .location()
            .map_or_else(|| "an unknown place".to_owned(), ToString::to_string);
        if tracing::dispatcher::has_been_set() {
            tracing::error!(
                panic.location = place,
                "a panic, which is a bug: please report its place"
            );
        } else {
            let _ = writeln!(
                io::stderr(),
                "error: a panic at {place}, which is a bug: please report its place"
            );
        }
    }));
}
