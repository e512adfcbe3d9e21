//! A disk that fails at each step in turn: does the next start find everything that was answered?
//!
//! A server starts on an empty folder, stores a function, answers some calls and stops: its changes and syncs of files are
//! counted. Then the same is done again for each of them (or each n-th), which fails with EIO or ENOSPC, or ends the
//! process. Whatever becomes of that server, the next one has to start by itself on what is left, with every function and
//! every span that was answered, none of them open, and a database that is whole.

#![expect(clippy::print_stdout, reason = "the report is what the program is for")]

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use rand::RngExt;
use testkit::{
    arguments::Arguments,
    campaign::{Caller, Database, Disk, End, Failure, Launch, Server, TOKEN, Way, chance},
    client::Connection,
};

const CALLS: usize = 3;
/// A server that hangs after a fault is at fault itself.
const PATIENCE: Duration = Duration::from_secs(20);

/// What was answered: the paths at which it has to be found.
#[derive(Debug, Default)]
struct Answered(Vec<String>);

struct Campaign {
    server: String,
    shim: String,
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let known = [("server", ""), ("shim", ""), ("every", "1"), ("seed", "")];
    let arguments = Arguments::read(&known)?;
    let every: usize = arguments.get("every")?;
    let (mut chance, seed) = chance(arguments.text("seed"))?;
    let campaign = Campaign {
        server: arguments.text("server").to_owned(),
        shim: arguments.text("shim").to_owned(),
    };
    let steps = campaign.count().await?;
    println!("a disk that fails: {steps} steps, each {every}th, seed {seed}");
    let (mut passed, mut failed) = (0, 0);
    for how in ["eio", "enospc", "abort"] {
        let (mut not_started, mut whole, mut runs) = (0, 0, 0);
        let first = chance.random_range(1..=every);
        for step in (first..=steps).step_by(every) {
            runs += 1;
            match campaign.fail(step, how).await {
                Ok(answered) => {
                    not_started += usize::from(answered.0.is_empty());
                    whole += usize::from(answered.0.len() == 1 + 2 * CALLS);
                    passed += 1;
                }
                Err(fault) => {
                    println!("  {how} at step {step}: {fault}");
                    failed += 1;
                }
            }
        }
        println!(
            "{how:>6}: {runs} runs; {not_started} answered nothing, {whole} answered everything, {} some",
            runs - not_started - whole
        );
    }
    println!("{passed} passed, {failed} failed");
    if failed > 0 {
        return Err("a disk's fault was not survived".into());
    }
    Ok(())
}

impl Campaign {
    /// Counts the steps of a run without a fault.
    async fn count(&self) -> Result<usize, Failure> {
        let (folder, place) = place()?;
        let journal = place.join("journal");
        let mut launch = self.launch(&place)?;
        launch.set("DISK_JOURNAL", journal.to_string_lossy());
        let mut answered = Answered::default();
        run(&mut launch, &mut answered).await?;
        if answered.0.len() != 1 + 2 * CALLS {
            return Err(format!("without a fault there were {answered:?}").into());
        }
        let steps = Disk::default().replay(&journal)?;
        drop(folder);
        Ok(steps)
    }

    async fn fail(&self, step: usize, how: &str) -> Result<Answered, Failure> {
        let (_folder, place) = place()?;
        let mut launch = self.launch(&place)?;
        launch.set("DISK_FAIL_AT", step.to_string());
        launch.set("DISK_FAIL_HOW", how);
        let mut answered = Answered::default();
        run(&mut launch, &mut answered).await?;

        for name in ["LD_PRELOAD", "DISK_FAIL_AT", "DISK_FAIL_HOW"] {
            launch.unset(name);
        }
        let (server, _) = launch.start().await?;
        found(&launch, &answered).await?;
        let status = server.stop().await?;
        if !status.success() {
            return Err(format!("the next server ended with {status}").into());
        }
        let database = Database::look(&launch.data_dir())?;
        if database.integrity != "ok" || database.open > 0 {
            return Err(format!("the database afterwards: {database:?}").into());
        }
        Ok(answered)
    }

    fn launch(&self, place: &Path) -> Result<Launch, Failure> {
        let launch = Launch::new(&self.server, place)?;
        let data = launch.data_dir();
        Ok(launch
            .with("LD_PRELOAD", self.shim.clone())
            .with("DISK_DIR", data.to_string_lossy()))
    }
}

fn place() -> Result<(tempfile::TempDir, PathBuf), Failure> {
    let folder = tempfile::tempdir()?;
    let place = fs::canonicalize(folder.path())?;
    Ok((folder, place))
}

/// Starts, stores a function, calls it, and stops, as far as the disk lets it.
async fn run(launch: &mut Launch, answered: &mut Answered) -> Result<(), Failure> {
    let mut server = launch.spawn()?;
    if launch.ready(&mut server).await? {
        call(launch, answered).await;
        // It may have ended already.
        let _asked = server.terminate();
    }
    ended(&mut server).await
}

async fn ended(server: &mut Server) -> Result<(), Failure> {
    match tokio::time::timeout(PATIENCE, server.ended()).await {
        Ok(status) => {
            let status = status?;
            let said = server.said();
            if said.contains("panicked") {
                return Err(format!("it panicked, {status}:\n{said}").into());
            }
            Ok(())
        }
        Err(_) => Err(format!("it did not end:\n{}", server.said()).into()),
    }
}

async fn call(launch: &Launch, answered: &mut Answered) {
    let Ok(function) = launch.function("kept", "offline/echo").await else {
        return;
    };
    answered.0.push(format!("/v2/functions/{function}"));
    for way in [Way::Plain, Way::Streamed] {
        let mut caller = Caller::new(launch.address, &function, way);
        for _ in 0..CALLS {
            let outcome = caller.call("still here").await;
            if let (End::Answered, Some(span)) = (outcome.end, outcome.span) {
                answered.0.push(format!("/v2/spans/{span}"));
            }
        }
    }
}

async fn found(launch: &Launch, answered: &Answered) -> Result<(), Failure> {
    let mut connection = Connection::open(launch.address, TOKEN).await?;
    for path in &answered.0 {
        let reply = connection.get(path).await?;
        let body = reply.json();
        let is_open = path.starts_with("/v2/spans/") && body["end_time"].is_null();
        if reply.status != 200 || is_open || body["error"].is_string() {
            return Err(format!("{path} was answered and is {}: {body}", reply.status).into());
        }
    }
    Ok(())
}
