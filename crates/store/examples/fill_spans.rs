//! Fills a data directory with spans, past the server, as fast as storage takes them.
//!
//! `--from` is the number of the first one, `--spans` of the one after the last, unless `--gib` is full before. The project has
//! to be there. Prints `spans=N bytes=N`: how many there are now, and what they take.

#![expect(clippy::print_stdout, reason = "the line is what the program is for")]

use std::error::Error;

use domain::{ProjectName, SpanWrite};
use indicatif::{ProgressBar, ProgressStyle};
use store::{Durability, Options};
use testkit::{arguments::Arguments, recorded};
use tokio::task::JoinSet;

/// How many spans share a transaction.
const GROUP: u64 = 500;
/// How many groups are made while others are written.
const AHEAD: usize = 4;
const GIB: f64 = 1_073_741_824.0;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::read(&[
        ("data-dir", ""),
        ("project", "spans"),
        ("from", "0"),
        ("spans", "10000"),
        ("bytes", "400"),
        ("gib", "1000000"),
    ])?;
    let (from, until): (u64, u64) = (arguments.get("from")?, arguments.get("spans")?);
    let bytes: usize = arguments.get("bytes")?;
    let full = arguments.get::<f64>("gib")? * GIB;
    let options = Options {
        data_dir: arguments.text("data-dir").into(),
        durability: Durability::Standard,
        min_free_mib: 256,
    };
    let store = store::open_shared(&options).await?.store;
    let name = ProjectName::parse(arguments.text("project"))?;
    let project = store.project_by_name(&name).await?;
    let project = project.ok_or("there is no such project")?.id;

    let bar =
        ProgressBar::new(until.saturating_sub(from)).with_style(ProgressStyle::with_template(
            "{wide_bar} {human_pos} of {human_len} spans, {per_sec}, {eta} left",
        )?);
    let (mut next, mut writing) = (from, JoinSet::new());
    while next < until {
        let end = until.min(next + GROUP);
        let (to, group) = (store.clone(), next..end);
        writing.spawn(async move {
            let length = group.end - group.start;
            let span = |number| SpanWrite::New(recorded::span(number, project, bytes));
            to.commit_spans(group.map(span).collect()).await?;
            Ok::<_, domain::seams::StoreError>(length)
        });
        next = end;
        while writing.len() >= AHEAD || next == until && !writing.is_empty() {
            let Some(written) = writing.join_next().await else {
                break;
            };
            bar.inc(written??);
        }
        #[expect(clippy::cast_precision_loss, reason = "only compared")]
        if next.is_multiple_of(40 * GROUP) && store.span_bytes(project).await? as f64 >= full {
            break;
        }
    }
    while let Some(written) = writing.join_next().await {
        bar.inc(written??);
    }
    bar.finish_and_clear();
    println!("spans={next} bytes={}", store.span_bytes(project).await?);
    store.close().await;
    Ok(())
}
