//! `gatewright doctor`: whether everything is as a server needs it, and what to do where it is not.
//!
//! It changes nothing, needs no server, and looks at all that it can get at under a broken configuration too. Nothing secret is
//! told.

mod finding;
mod hosts;
mod kept;
mod listening;
mod machine;
mod place;
mod reading;

use std::path::Path;

use anyhow::bail;
use clap::Args;
use domain::seams::SystemClock;

use self::finding::Finding;
use crate::{
    commands::{backup::turning, print},
    compose,
    config::{Config, Sources},
};

/// What `doctor` is asked.
#[derive(Debug, Args)]
pub(super) struct Examination {
    /// Also ask each provider for a few tokens, once with each of its keys, at its price: far below a cent
    #[arg(long)]
    ask_providers: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Looks at everything and prints what was found.
///
/// # Errors
/// Something failed; everything was printed by then.
pub(super) async fn examine(sources: &Sources, asked: &Examination) -> anyhow::Result<()> {
    let clock = machine::Clocks::start(SystemClock);
    let (config, problems) = Config::load_what_holds(sources);
    let mut findings = configuration(sources.file.as_deref(), config.as_ref(), &problems);
    if let Some(config) = &config {
        let options = &config.options;
        let spinner = turning("checking the store");
        let inspected = store::inspect(&options.store);
        spinner.finish_and_clear();
        findings.extend(place::look(config, sources.file.as_deref()));
        findings.extend(kept::look(&inspected, &config.master_key));
        findings.push(clock.look(inspected.as_ref().ok()));
        findings.extend(machine::look(&options.limits));
        findings.extend(listening::look(options, inspected.as_ref().ok()));
        findings.extend(reading::look(&options.ocr).await);
        match compose::connect(config) {
            Ok((_, providers)) => {
                findings.extend(hosts::look(config, &*providers.registry));
                if asked.ask_providers {
                    findings.extend(hosts::ask(config, &*providers.registry).await);
                }
            }
            Err(problems) => {
                let told = |problem: &String| {
                    Finding::fail("configuration", problem, "the server does not start so")
                };
                findings.extend(problems.0.iter().map(told));
            }
        }
    }
    if asked.json {
        print(&[finding::json(&findings)?])?;
    } else {
        print(&finding::lines(&findings))?;
    }
    match finding::failures(&findings) {
        0 => Ok(()),
        failures => bail!("{failures} of {} checks failed", findings.len()),
    }
}

fn configuration(
    file: Option<&Path>,
    config: Option<&Config>,
    problems: &[String],
) -> Vec<Finding> {
    const CHECK: &str = "configuration";
    let advice = "the server does not start so; what follows is looked at with the default instead";
    let told = |problem: &String| Finding::fail(CHECK, problem, advice);
    let mut findings: Vec<Finding> = problems.iter().map(told).collect();
    if let Some(config) = config.filter(|_| problems.is_empty()) {
        let file = file.map_or_else(
            || "no file".to_owned(),
            |file| format!("the file {}", file.display()),
        );
        let found = match config.given() {
            0 => format!("{file}; every key has its default"),
            given => format!("{file}; keys that are set: {given}"),
        };
        findings.push(Finding::ok(CHECK, found));
    }
    findings
}

/// A size as people say it.
fn size(bytes: u64) -> String {
    const MIB: u64 = 1 << 20;
    match bytes / MIB {
        0 => format!("{bytes} bytes"),
        mib @ 1..10_240 => format!("{mib} MiB"),
        mib => format!("{} GiB", mib / 1024),
    }
}
