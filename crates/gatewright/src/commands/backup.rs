//! `gatewright backup` and `restore`: all that is kept, out of a data directory into one file and back.

use std::{path::PathBuf, time::Duration};

use anyhow::bail;
use clap::Args;
use indicatif::ProgressBar;
use store::{Existing, SealedKey};

use crate::{
    commands::{
        bar, hint, print,
        sealed::{self, Opening},
    },
    compose,
    config::{self, MasterKeySource, Sources},
};

const BAR: &str = "{msg} [{bar:40}] {bytes} of {total_bytes} {eta}";
const SPINNER: &str = "{spinner} {msg} {elapsed}";
const TURN: Duration = Duration::from_millis(100);

/// What `backup` is asked.
#[derive(Debug, Args)]
pub(super) struct BackUp {
    /// The file to write
    file: PathBuf,
    /// Replace the file if it is there
    #[arg(long)]
    force: bool,
}

/// What `restore` is asked.
#[derive(Debug, Args)]
pub(super) struct Restore {
    /// A file that `gatewright backup` wrote
    file: PathBuf,
    /// Put what the data directory holds aside
    #[arg(long)]
    force: bool,
    /// Restore also where the master key that sealed the provider keys is not here yet
    #[arg(long)]
    without_key: bool,
}

/// Writes a backup.
pub(super) fn back_up(sources: &Sources, asked: &BackUp) -> anyhow::Result<()> {
    let (options, master_key) = config::options_and_master_key(sources)?;
    let bar = bar(BAR, "writing");
    let existing = existing(asked.force);
    let watch = |done, all| show(&bar, done, all);
    let written = store::back_up(&options.store, &asked.file, existing, &watch);
    bar.finish_and_clear();
    let bytes = written?;
    hint(&format!(
        "provider keys are sealed in it; the master key that opens them is not in it: keep {master_key} too, and apart \
         from it"
    ));
    print(&[format!("wrote {} ({bytes} bytes)", asked.file.display())])
}

/// Puts a backup into the data directory.
pub(super) fn restore(sources: &Sources, asked: &Restore) -> anyhow::Result<()> {
    let (options, master_key) = config::options_and_master_key(sources)?;
    let spinner = turning("checking the backup");
    let backup = store::look_into(&asked.file);
    spinner.finish_and_clear();
    let backup = backup?;
    let key = check_keys(&backup.sealed, &master_key)?;
    if !asked.without_key
        && let Some(reason) = &key
    {
        bail!(
            "{reason}; `--without-key` restores all the same, and the server starts when the key is there"
        );
    }
    let bar = bar(BAR, "restoring");
    let watch = |done, all| show(&bar, done, all);
    let restored = store::restore(&backup, &options.store, existing(asked.force), &watch);
    bar.finish_and_clear();
    let restored = restored?;
    if let Some(aside) = restored.aside {
        hint(&format!("what was there before is {}", aside.display()));
    }
    if let Some(reason) = key {
        hint(&format!("{reason}; until then no server starts on it"));
    }
    print(&[format!(
        "restored {} into {} ({} bytes, provider keys: {})",
        asked.file.display(),
        restored.data_dir.display(),
        backup.bytes,
        backup.sealed.len()
    )])
}

/// What has to be done so that the keys in a backup open; nothing, if they do.
fn check_keys(keys: &[SealedKey], source: &MasterKeySource) -> anyhow::Result<Option<String>> {
    let master = compose::existing_master_key(source)?;
    let found = match sealed::open(keys, master.as_ref()) {
        Opening::All(_) => return Ok(None),
        Opening::NoKey => format!(
            "the backup's keys were sealed with a master key, and there is none in {source}"
        ),
        Opening::OtherKey => {
            format!("the backup's keys were sealed with another master key than that in {source}")
        }
        Opening::Damaged(models) => bail!(
            "the backup's keys of these models are damaged, so it is no sound backup: {}",
            models.join(", ")
        ),
    };
    Ok(Some(format!(
        "{found}: set GATEWRIGHT_MASTER_KEY to the one of the server that was backed up, or put its `master.key` into \
         the data directory"
    )))
}

const fn existing(is_forced: bool) -> Existing {
    if is_forced {
        Existing::Gives
    } else {
        Existing::Stays
    }
}

fn show(bar: &ProgressBar, done: u64, all: u64) {
    bar.set_length(all);
    bar.set_position(done);
}

/// Shows that something goes on of which nobody knows how long it takes.
pub(super) fn turning(message: &'static str) -> ProgressBar {
    let spinner = bar(SPINNER, message);
    spinner.enable_steady_tick(TURN);
    spinner
}
