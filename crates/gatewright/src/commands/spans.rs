//! `gatewright spans`: what was recorded.

use anyhow::{Context, bail};
use clap::Args;
use domain::{ProjectName, SpanRange, Timestamp, Usd};
use engine::{OwnPrices, Repriced, Repricing};

use crate::{
    commands::{
        Opened,
        amount::{NANO, decimal},
        bar, hint, print, project_name, table,
    },
    config::Options,
};

const BAR: &str = "{msg} [{bar:40}] {percent}% {eta}";

/// What `spans reprice` is asked.
#[derive(Debug, Args)]
pub(super) struct Reprice {
    /// From when on: 2026-11-01, or 2026-11-01T12:00:00Z
    #[arg(long, value_name = "TIME", value_parser = time)]
    since: Timestamp,
    /// Until when
    #[arg(long, value_name = "TIME", value_parser = time)]
    until: Option<Timestamp>,
    /// The spans of this project alone
    #[arg(long, value_name = "NAME", value_parser = project_name)]
    project: Option<ProjectName>,
    /// Report what would change, and change nothing
    #[arg(long)]
    dry_run: bool,
}

/// Counts the costs of recorded spans again by the prices that hold now.
pub(super) async fn reprice(
    opened: &Opened,
    (options, own): (&Options, OwnPrices),
    asked: Reprice,
) -> anyhow::Result<()> {
    let project = match &asked.project {
        None => None,
        Some(name) => match opened.store.project_by_name(name).await? {
            Some(project) => Some(project.id),
            None => {
                bail!("there is no project `{name}`; `gatewright project list` shows all of them")
            }
        },
    };
    let range = SpanRange {
        project,
        since: asked.since,
        until: asked.until,
    };
    let store = opened.store.clone();
    let mut repricing = Repricing::new(store, (own, &options.prices), range, asked.dry_run);
    let bar = bar(BAR, "repricing");
    while let Some((position, end)) = step(&mut repricing).await? {
        bar.set_length(end);
        bar.set_position(position);
    }
    bar.finish_and_clear();
    report(repricing.report(), asked.dry_run)
}

async fn step(repricing: &mut Repricing) -> anyhow::Result<Option<(u64, u64)>> {
    let step = repricing.step().await;
    step.context("what was corrected before stays so; the same command goes on with the rest")
}

fn report(done: &Repriced, is_dry: bool) -> anyhow::Result<()> {
    let usd = |amount: Usd| decimal(amount.nanos(), NANO);
    let more =
        |before: Usd, after: Usd| Usd::from_nanos(after.nanos().saturating_sub(before.nanos()));
    let (mut before, mut after) = (Usd::default(), Usd::default());
    let rows: Vec<[String; 5]> = done
        .models
        .iter()
        .map(|(model, change)| {
            before += change.before;
            after += change.after;
            [
                model.clone(),
                change.attempts.to_string(),
                usd(change.before),
                usd(change.after),
                signed(&usd(more(change.before, change.after))),
            ]
        })
        .collect();
    let mut lines = Vec::new();
    if !rows.is_empty() {
        let head = [
            "MODEL",
            "REQUESTS",
            "BEFORE (USD)",
            "NOW (USD)",
            "DIFFERENCE",
        ];
        lines = table::lines(head, rows.into_iter());
    }
    let verb = if is_dry { "would change" } else { "changed" };
    lines.push(format!(
        "{verb} {} of {} spans: {} USD",
        done.changed,
        done.spans,
        signed(&usd(more(before, after)))
    ));
    if done.missed > 0 {
        hint(&format!(
            "{} spans were changed by somebody else meanwhile and are as they were; run the command again",
            done.missed
        ));
    }
    print(&lines)
}

fn signed(amount: &str) -> String {
    if amount.starts_with('-') || amount == "0" {
        return amount.to_owned();
    }
    format!("+{amount}")
}

/// A day, or a time by RFC 3339.
fn time(text: &str) -> Result<Timestamp, String> {
    let day = Timestamp::parse(&format!("{text}T00:00:00Z"));
    day.or_else(|_| Timestamp::parse(text)).map_err(|_| {
        "write a day such as 2026-11-01, or a time such as 2026-11-01T12:00:00Z".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_day_or_an_instant() {
        let noon = Timestamp::parse("2026-11-01T12:00:00Z").unwrap();
        let midnight = Timestamp::parse("2026-11-01T00:00:00Z").unwrap();

        assert_eq!(time("2026-11-01T12:00:00Z"), Ok(noon));
        assert_eq!(time("2026-11-01T13:00:00+01:00"), Ok(noon));
        assert_eq!(time("2026-11-01"), Ok(midnight));
        for text in ["", "yesterday", "2026-13-01", "2026-11-01 "] {
            assert!(time(text).is_err(), "{text}");
        }
    }
}
