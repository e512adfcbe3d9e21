//! `gatewright serve`: runs until it is asked to stop, lets calls finish, and leaves nothing unwritten.

use std::path::Path;

use anyhow::Context;
use api::{House, RenderMetrics, Server};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::{
    compose::{Composed, compose},
    config::Config,
};

/// Serves until SIGTERM or SIGINT.
///
/// # Errors
/// What keeps the server from starting, or storage that failed for good.
pub(crate) async fn run(config: Config, render_metrics: RenderMetrics) -> anyhow::Result<()> {
    let stop = stop_on_signals()?;
    let Composed {
        gateway,
        ids,
        lacks_tokens,
    } = compose(&config).await?;
    let default_model = gateway.default_model().to_string();
    let options = config.options;
    let make_token = lacks_tokens.then(|| make_token(&options.store.data_dir));
    let house = House {
        gateway,
        server: options.server,
        limits: options.limits,
        metrics: options.metrics,
        render_metrics,
        ids,
    };
    let server = Server::bind(house).await?;
    announce(
        &format!("http://{}", server.address()),
        &default_model,
        make_token.as_deref(),
    );
    server.run(stop).await?;
    tracing::info!("stopped");
    Ok(())
}

/// The one line of a start. While nobody has a token, it says how to make one.
fn announce(address: &str, default_model: &str, make_token: Option<&str>) {
    let docs = format!("{address}/docs");
    tracing::info!(address, docs, default_model, make_token, "listening");
}

/// The command that makes a token for the store that is being served.
fn make_token(data_dir: &Path) -> String {
    let command = "gatewright token create --project default";
    if data_dir == Path::new("./gatewright-data") {
        return command.to_owned();
    }
    format!("{command} --data-dir '{}'", data_dir.display())
}

fn stop_on_signals() -> anyhow::Result<CancellationToken> {
    let stop = CancellationToken::new();
    let mut terminate = signal(SignalKind::terminate()).context("SIGTERM cannot be watched")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("SIGINT cannot be watched")?;
    let asked = stop.clone();
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tracing::info!("stopping: no call is let in any more, those under way may finish");
        asked.cancel();
    });
    Ok(stop)
}
