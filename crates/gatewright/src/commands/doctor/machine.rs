//! The machine: its clock, what it lets a process have, and what becomes of a process that crashes.

use std::{
    fs,
    time::{Duration, Instant},
};

use api::LimitsOptions;
use domain::{
    Timestamp,
    seams::{Clock, SystemClock},
};
use rustix::process::{DumpableBehavior, Resource, dumpable_behavior, getrlimit};
use store::Inspection;

use super::{finding::Finding, size};

const CLOCK: &str = "clock";
const FILES: &str = "open files";
const MEMORY: &str = "memory";
const CORES: &str = "core dumps";
/// 2026-01-01, before which there was no Gatewright, and a hundred years later.
const PLAUSIBLE: std::ops::Range<i64> = 1_767_225_600_000_000..4_922_899_200_000_000;
/// So far a clock may be behind the newest span: what sets it moves it by less.
const BEHIND: Duration = Duration::from_secs(2);
/// So much may a clock be slewed while one looks.
const SLEWED: Duration = Duration::from_millis(50);
/// Files beside connections: the database, logs, documents.
const OWN_FILES: usize = 256;
/// Memory beside the bodies of requests.
const OWN_MEMORY: u64 = 512 << 20;

/// The time of day and one that only runs on, at one moment.
pub(super) struct Clocks {
    clock: SystemClock,
    day: Timestamp,
    run: Instant,
}

impl Clocks {
    pub(super) fn start(clock: SystemClock) -> Self {
        Self {
            day: clock.now(),
            run: Instant::now(),
            clock,
        }
    }

    /// Compares what both have made of the time since the start, and the time of day with what was recorded last.
    pub(super) fn look(&self, inspected: Option<&Inspection>) -> Finding {
        let (now, ran) = (self.clock.now(), self.run.elapsed());
        let newest = inspected.and_then(|found| found.database.as_ref()?.newest_span);
        let set_it =
            "have it set, by `systemd-timesyncd` or `chrony`; ids and times of spans follow it";
        if !PLAUSIBLE.contains(&now.micros()) {
            return Finding::fail(CLOCK, format!("it says {now}"), set_it);
        }
        if let Some(newest) = newest.filter(|newest| *newest > now.plus(BEHIND)) {
            let found = format!("it says {now}, before the newest span, of {newest}");
            return Finding::fail(CLOCK, found, set_it);
        }
        let shown = self.day.plus(ran).micros().abs_diff(now.micros());
        if Duration::from_micros(shown) > SLEWED {
            let found = format!("it was set by {} ms while one looked", shown / 1000);
            return Finding::warn(
                CLOCK,
                found,
                "have it slewed, not set: spans tell wrong durations else",
            );
        }
        let newest = newest.map(|newest| format!("; the newest span is of {newest}"));
        Finding::ok(CLOCK, format!("{now}{}", newest.unwrap_or_default()))
    }
}

/// Looks at what this process may have, as a server started so would.
pub(super) fn look(limits: &LimitsOptions) -> [Finding; 3] {
    [open_files(limits.connections), memory(limits), core_dumps()]
}

fn open_files(connections: usize) -> Finding {
    let Some(most) = getrlimit(Resource::Nofile).current else {
        return Finding::ok(FILES, "no limit");
    };
    // A call has its caller's connection and one to a provider.
    let wanted = (2 * connections + OWN_FILES) as u64;
    if most >= wanted {
        return Finding::ok(FILES, format!("{most} at once"));
    }
    Finding::warn(
        FILES,
        format!(
            "{most} at once; {connections} connections (`limits.connections`) with calls on all take {wanted}"
        ),
        format!(
            "start the server with `ulimit -n {wanted}` (systemd: `LimitNOFILE={wanted}`), or lower the limit of connections"
        ),
    )
}

/// The tightest of what bounds this process's memory.
fn memory(limits: &LimitsOptions) -> Finding {
    let address_space = getrlimit(Resource::As).current;
    let bounds = [
        (address_space, "address space (`ulimit -v`)"),
        (control_group(), "its control group"),
        (available(), "what this machine has left"),
    ];
    let known = bounds
        .into_iter()
        .filter_map(|(bound, whose)| Some((bound?, whose)));
    let Some((bound, whose)) = known.min() else {
        return Finding::ok(MEMORY, "no limit that could be told");
    };
    let wanted = limits.buffered_bytes as u64 + OWN_MEMORY;
    let found = format!("{} by {whose}", size(bound));
    if bound >= wanted {
        return Finding::ok(MEMORY, found);
    }
    Finding::warn(
        MEMORY,
        format!("{found}; under load a server takes up to {}", size(wanted)),
        "give it more, or lower `limits.buffered_bytes`",
    )
}

fn control_group() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let group = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let bound = fs::read_to_string(format!("/sys/fs/cgroup{group}/memory.max")).ok()?;
    bound.trim().parse().ok()
}

fn available() -> Option<u64> {
    let told = fs::read_to_string("/proc/meminfo").ok()?;
    let line = told
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// A core file would hold keys and prompts.
fn core_dumps() -> Finding {
    // The limit is for files; a program that takes cores over a pipe gets none of a process that may not be dumped.
    let is_off = getrlimit(Resource::Core).current == Some(0)
        && dumpable_behavior().is_ok_and(|found| found == DumpableBehavior::NotDumpable);
    if is_off {
        return Finding::ok(CORES, "off");
    }
    Finding::fail(
        CORES,
        "they are on: a crash would hand out keys and prompts",
        "a kernel that keeps to `ulimit -c 0` and `PR_SET_DUMPABLE` is needed",
    )
}

#[cfg(test)]
mod tests {
    use store::Database;

    use super::{super::finding::Verdict, *};

    fn inspected(newest: Timestamp) -> Inspection {
        Inspection {
            holder: None,
            database: Some(Database {
                schema: 1,
                known: 1,
                bytes: 0,
                log_bytes: 0,
                complaint: None,
                newest_span: Some(newest),
                tokens: 0,
                sealed: Vec::new(),
            }),
        }
    }

    #[test]
    fn a_clock_behind_the_newest_span_or_one_that_was_set_is_told() {
        let clocks = || Clocks::start(SystemClock);
        let now = SystemClock.now();
        let hour = Duration::from_hours(1);
        let set = Clocks {
            day: now.plus(hour),
            ..clocks()
        };

        let verdict = |clocks: &Clocks, newest| clocks.look(Some(&inspected(newest))).verdict();

        assert_eq!(verdict(&clocks(), now), Verdict::Ok);
        assert_eq!(verdict(&clocks(), now.plus(hour)), Verdict::Fail);
        assert_eq!(verdict(&set, now), Verdict::Warn);
        assert_eq!(clocks().look(None).verdict(), Verdict::Ok);
    }

    #[test]
    fn more_connections_than_open_files_are_told() {
        assert_eq!(open_files(1).verdict(), Verdict::Ok);
        assert_eq!(open_files(usize::MAX / 4).verdict(), Verdict::Warn);
    }
}
