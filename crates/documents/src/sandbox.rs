//! What a process that reads may take and reach (`ocr.md` 3). It sets its own bounds before it has seen a byte of the
//! document.

use std::{fs::File, io, os::unix::fs::FileExt as _, path::Path, process::Child, sync::OnceLock};

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetStatus, Scope, path_beneath_rules,
};
use rustix::{
    process::{Pid, Resource, Rlimit, getrlimit, nice, prlimit, setrlimit},
    time::{ClockId, clock_gettime},
};

use crate::protocol::{Bounds, Walls};

/// Pipes, and what a program opens while it starts.
const FILES: u64 = 64;
/// Behind everybody who waits for an answer.
const NICENESS: i32 = 5;
/// Of each second that a page has, how many milliseconds recognition may take for any page, and for how many pixels one more. With
/// a minute for a page these are three seconds, and 0.8 for a million pixels, which take a third of a second, or half of one where
/// they are dense.
const CHILD_LEAST: u64 = 50;
const CHILD_PIXELS: u64 = 75_000;
/// In how many pixels a process may clean for a second more, beside four for any page.
const CLEANED_PIXELS: u64 = 6_000_000;
const CLEANING_LEAST: u64 = 4;
/// What this process is bound by.
static BOUNDS: OnceLock<Bounds> = OnceLock::new();
/// What the kernel tells of this process; opened before the walls are up.
static STATUS: OnceLock<File> = OnceLock::new();
/// Milliseconds of a clock tick in what it tells: the same on all machines (`proc_pid_stat(5)`).
const TICK: u64 = 10;
/// Where programs and what they need are installed.
const INSTALLED: [&str; 9] = [
    "/usr",
    "/lib",
    "/lib64",
    "/bin",
    "/opt",
    "/nix/store",
    "/etc/ld.so.cache",
    "/dev/null",
    "/dev/urandom",
];

/// Bounds this process for good.
pub(crate) fn enter(bounds: &Bounds) -> io::Result<Walls> {
    let _ = BOUNDS.set(bounds.clone());
    if let Ok(status) = File::open("/proc/self/stat") {
        let _ = STATUS.set(status);
    }
    limit(Resource::As, bounds.memory)?;
    limit(Resource::Nofile, FILES)?;
    limit(Resource::Core, 0)?;
    // Only a wish.
    let _ = nice(NICENESS);
    Ok(wall(bounds.tesseract.as_deref()).unwrap_or(Walls::Missing))
}

fn limit(resource: Resource, most: u64) -> io::Result<()> {
    let most = getrlimit(resource)
        .maximum
        .map_or(most, |max| max.min(most));
    let limit = Rlimit {
        current: Some(most),
        maximum: Some(most),
    };
    Ok(setrlimit(resource, limit)?)
}

/// Lets this process work for so many seconds more; then the kernel ends it.
pub(crate) fn allow_time(seconds: u64) -> io::Result<()> {
    let used = clock_gettime(ClockId::ProcessCPUTime).tv_sec;
    let until = u64::try_from(used).unwrap_or(0) + seconds + 1;
    let limit = Rlimit {
        current: Some(until),
        maximum: getrlimit(Resource::Cpu).maximum,
    };
    Ok(setrlimit(Resource::Cpu, limit)?)
}

/// Lets this process clean a page that it has drawn or decoded.
pub(crate) fn allow_cleaning(pixels: usize) {
    let Some(bounds) = BOUNDS.get() else {
        return;
    };
    let seconds = CLEANING_LEAST + pixels as u64 / CLEANED_PIXELS;
    // Where that is not possible, it has what is left of the time to draw it.
    let _ = allow_time(seconds.min(bounds.cleaning_seconds));
}

/// Lets what this process has started work as long as a page of so many pixels may take: a process is born with what its parent is
/// allowed, which is meant for the parent's own work.
pub(crate) fn allow_child(child: &Child, pixels: usize) -> io::Result<()> {
    let Some(bounds) = BOUNDS.get() else {
        return Ok(());
    };
    let seconds = child_millis(bounds, pixels).div_ceil(1000);
    let limit = Rlimit {
        current: Some(seconds + 1),
        maximum: getrlimit(Resource::Cpu).maximum,
    };
    let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    prlimit(id, Resource::Cpu, limit)?;
    Ok(())
}

fn child_millis(bounds: &Bounds, pixels: usize) -> u64 {
    let of_a_second = CHILD_LEAST + pixels as u64 / CHILD_PIXELS;
    bounds.page_seconds.saturating_mul(of_a_second.min(1000))
}

/// Milliseconds of processor time that ended children of this process took; 0 where nobody tells.
pub(crate) fn spent_by_children() -> u64 {
    let mut told = [0; 1024];
    let read = STATUS.get().map(|status| status.read_at(&mut told, 0));
    let Some(Ok(length)) = read else {
        return 0;
    };
    let told = String::from_utf8_lossy(&told[..length]);
    // The program's name, in brackets, may hold anything; the state is the third field, theirs are the 16th and the 17th.
    let fields = told.rsplit_once(')').map_or("", |(_, fields)| fields);
    let ticks = fields.split_whitespace().skip(13).take(2);
    let ticks: u64 = ticks.filter_map(|field| field.parse::<u64>().ok()).sum();
    ticks.saturating_mul(TICK)
}

/// Whether so many milliseconds are more than a page of so many pixels may take to be recognised once.
pub(crate) fn is_much(millis: u64, pixels: usize) -> bool {
    let bounds = BOUNDS.get();
    bounds.is_some_and(|bounds| millis > child_millis(bounds, pixels))
}

/// No network, nothing to write, nothing to read but what is installed: keys and data are out of reach.
fn wall(tesseract: Option<&Path>) -> Result<Walls, landlock::RulesetError> {
    let newest = ABI::V6;
    let beside = tesseract.and_then(|program| program.canonicalize().ok());
    // `…/bin/tesseract` has its data in `…/share`.
    let beside = beside.as_deref().and_then(Path::parent);
    let beside = beside.and_then(|folder| folder.parent().filter(|up| *up != Path::new("/")));
    let readable = INSTALLED.iter().map(Path::new).chain(beside);
    let status = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(newest))?
        .handle_access(AccessNet::from_all(newest))?
        .scope(Scope::from_all(newest))?
        .create()?
        .add_rules(path_beneath_rules(readable, AccessFs::from_read(newest)))?
        .add_rules(path_beneath_rules(["/dev/null"], AccessFs::WriteFile))?
        .restrict_self()?;
    Ok(match status.ruleset {
        RulesetStatus::FullyEnforced => Walls::Up,
        RulesetStatus::PartiallyEnforced => Walls::Partly,
        RulesetStatus::NotEnforced => Walls::Missing,
    })
}
