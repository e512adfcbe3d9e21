//! The binary: reads what it was asked for, joins the parts and starts them. It decides nothing.

mod commands;
mod compose;
mod config;
mod telemetry;

use std::{
    io::{self, Write},
    process::ExitCode,
};

use clap::Parser;
use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit};

use crate::{commands::Cli, config::Problems};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What a shell sees when the command line or the configuration is wrong; the same code as clap's.
const WRONG_USAGE: u8 = 2;

fn main() -> ExitCode {
    telemetry::install_panic_hook();
    let cli = Cli::parse();
    match without_core_dumps().and_then(|()| run(cli)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => tell(&fault),
    }
}

/// A core file would hold keys and prompts. The limit is for files alone: where cores are piped to a program, only a
/// process that may not be dumped has none. Nor may others of the same user look into it then.
fn without_core_dumps() -> anyhow::Result<()> {
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    Ok(setrlimit(Resource::Core, none)?)
}

fn run(cli: Cli) -> anyhow::Result<()> {
    if cli.is_worker() {
        // It has nothing to wait for, and no memory to spare.
        return Ok(documents::work()?);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let done = runtime.block_on(commands::run(cli, config::environment()));
    // What still runs beside the tasks has nobody left to answer to.
    runtime.shutdown_background();
    done
}

/// Writes the fault to standard error, and gives the exit code that goes with it.
fn tell(fault: &anyhow::Error) -> ExitCode {
    let (lines, code) = match fault.downcast_ref::<Problems>() {
        Some(Problems(problems)) => (problems.clone(), ExitCode::from(WRONG_USAGE)),
        None => (vec![format!("{fault:#}")], ExitCode::FAILURE),
    };
    let mut stderr = io::stderr().lock();
    for line in lines {
        // With standard error gone there is nobody left to tell.
        let _ = writeln!(stderr, "error: {line}");
    }
    code
}

#[cfg(test)]
mod tests {
    use rustix::process::{dumpable_behavior, getrlimit};

    use super::*;

    #[test]
    fn neither_a_file_nor_a_program_gets_a_core() {
        without_core_dumps().unwrap();

        assert_eq!(dumpable_behavior().unwrap(), DumpableBehavior::NotDumpable);
        assert_eq!(getrlimit(Resource::Core).maximum, Some(0));
    }
}
