//! How much room is left on the disk, looked at when somebody asks and not more often than once a second.

use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::{Duration, Instant},
};

use domain::seams::StoreError;
use rustix::fs::{StatVfsMountFlags, statvfs};

/// How old a look may be.
const LOOK_AGE: Duration = Duration::from_secs(1);

/// The room for rows of a data directory.
#[derive(Debug)]
pub(super) struct Space {
    directory: PathBuf,
    /// Below it nothing is let in.
    mark: u64,
    opened: Instant,
    /// When the next look is due, in milliseconds after `opened`.
    due: AtomicU64,
    lacks: AtomicBool,
}

impl Space {
    pub(super) fn new(directory: &Path, min_free_mib: u64) -> Self {
        Self {
            directory: directory.to_owned(),
            mark: min_free_mib.saturating_mul(1 << 20),
            opened: Instant::now(),
            due: AtomicU64::new(0),
            lacks: AtomicBool::new(false),
        }
    }

    /// Refuses while the disk is below the mark or read-only. Those who ask at once share one look.
    pub(super) fn check(&self) -> Result<(), StoreError> {
        let now = self.opened.elapsed();
        let due = self.due.load(Ordering::Relaxed);
        let next = milliseconds(now + LOOK_AGE);
        if milliseconds(now) >= due
            && self
                .due
                .compare_exchange(due, next, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
        {
            self.look();
        }
        if self.lacks.load(Ordering::Relaxed) {
            return Err(StoreError::Full(
                "the disk is below its mark or read-only".to_owned(),
            ));
        }
        Ok(())
    }

    fn look(&self) {
        // A disk that tells nothing of itself may be written all the same.
        let Ok(disk) = statvfs(&self.directory) else {
            return;
        };
        let free = disk.f_bavail.saturating_mul(disk.f_frsize);
        let read_only = disk.f_flag.contains(StatVfsMountFlags::RDONLY);
        let lacks = read_only || free < self.mark;
        if lacks == self.lacks.swap(lacks, Ordering::Relaxed) {
            return;
        }
        let (free_mib, mark_mib) = (free >> 20, self.mark >> 20);
        if lacks {
            tracing::warn!(
                free_mib,
                mark_mib,
                read_only,
                "calls are refused: there is no room to record them"
            );
        } else {
            tracing::info!(free_mib, mark_mib, "there is room again: calls are let in");
        }
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_below_its_mark_takes_nothing_and_no_mark_takes_all() {
        let folder = tempfile::tempdir().unwrap();
        let space = |mib| Space::new(folder.path(), mib);

        assert!(matches!(space(u64::MAX).check(), Err(StoreError::Full(_))));
        assert!(space(0).check().is_ok());
    }

    #[test]
    fn a_look_answers_for_a_second() {
        let folder = tempfile::tempdir().unwrap();
        let mut space = Space::new(folder.path(), u64::MAX);
        assert!(space.check().is_err());

        space.mark = 0;

        assert!(space.check().is_err(), "it was looked a moment ago");
        space.due = AtomicU64::new(0);
        assert!(space.check().is_ok());
    }
}
