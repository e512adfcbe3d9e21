//! What a process that reads may take and reach (`ocr.md` 3). It sets its own bounds before it has seen a byte of the
//! document.

use std::{io, path::Path, process::Child, sync::OnceLock};

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
/// How long what this process starts may work.
static CHILD_SECONDS: OnceLock<u64> = OnceLock::new();
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
    let _ = CHILD_SECONDS.set(bounds.page_seconds);
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

/// Lets what this process has started work for as long as a page may take: a process is born with what its parent is allowed,
/// which is meant for the parent's own work.
pub(crate) fn allow_child(child: &Child) -> io::Result<()> {
    let Some(seconds) = CHILD_SECONDS.get() else {
        return Ok(());
    };
    let limit = Rlimit {
        current: Some(seconds + 1),
        maximum: getrlimit(Resource::Cpu).maximum,
    };
    let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    prlimit(id, Resource::Cpu, limit)?;
    Ok(())
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
