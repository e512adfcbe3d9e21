//! A disk that is full, or cannot be written: is nothing asked of a model that could not be recorded?
//!
//! On a small disk of its own (`--folder`, mounted by the script) the room runs out, to below `store.min_free_mib` and, with
//! no such mark, to the last byte; with `--shim` a disk turns read-only as well. Each time calls and creates have to be
//! answered with 503 `storage` before the upstream hears of them, reads have to go on, and service has to resume by itself
//! within 5 s of the room's return, with every answered span.

#![expect(clippy::print_stdout, reason = "the report is what the program is for")]

use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use http::Method;
use rustix::fs::statvfs;
use serde_json::json;
use testkit::{
    Answer, Upstream,
    arguments::Arguments,
    campaign::{Caller, Database, End, Failure, Launch, TOKEN, Way},
    client::Connection,
};
use tokio::time::sleep;

const STORAGE: &str = "ServiceUnavailableError: storage";
/// For the lack of room to be noticed, and for its return.
const NOTICED: Duration = Duration::from_secs(3);
const RESUMED: Duration = Duration::from_secs(5);
const CALLS: usize = 50;
const MIB: u64 = 1 << 20;

/// How the disk cannot be written, and what mends it.
enum Lack {
    BelowMark { mib: u64 },
    Full,
    ReadOnly { flag: PathBuf },
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let arguments = Arguments::read(&[("server", ""), ("folder", ""), ("shim", "")])?;
    let folder = fs::canonicalize(arguments.text("folder"))?;
    let elsewhere = tempfile::tempdir()?;
    let flag = elsewhere.path().join("read-only");
    let (mut passed, mut failed) = (0, 0);
    for (name, lack) in [
        ("below the mark", Lack::BelowMark { mib: 16 }),
        ("really full", Lack::Full),
        ("read-only", Lack::ReadOnly { flag }),
    ] {
        if matches!(lack, Lack::ReadOnly { .. }) && arguments.text("shim").is_empty() {
            println!("{name}: skipped, it takes `--shim`");
            continue;
        }
        let place = folder.join(name.replace(' ', "-"));
        fs::create_dir(&place)?;
        match try_out(
            arguments.text("server"),
            arguments.text("shim"),
            &place,
            &lack,
        )
        .await
        {
            Ok(said) => {
                println!("{name}: {said}");
                passed += 1;
            }
            Err(fault) => {
                println!("{name}: FAILED: {fault}");
                failed += 1;
            }
        }
        fs::remove_dir_all(&place)?;
    }
    println!("{passed} passed, {failed} failed");
    if failed > 0 {
        return Err("a disk without room was not survived".into());
    }
    Ok(())
}

async fn try_out(server: &str, shim: &str, place: &Path, lack: &Lack) -> Result<String, Failure> {
    let upstream = Upstream::start(Answer::text("still here")).await;
    let mut launch = Launch::new(server, place)?
        .with("GATEWRIGHT_PROVIDERS__HOUSE__API_BASE", upstream.base_url())
        .with(
            "GATEWRIGHT_EGRESS__ALLOW",
            json!([upstream.authority()]).to_string(),
        );
    lack.prepare(&mut launch, shim);
    let (server, _) = launch.start().await?;
    let function = launch.function("kept", "house/tiny").await?;
    let mut callers =
        [Way::Plain, Way::Streamed].map(|way| Caller::new(launch.address, &function, way));
    let mut kept = Vec::new();
    for caller in &mut callers {
        let outcome = caller.call("still here").await;
        if outcome.end != End::Answered {
            return Err(format!("a first call: {:?}", outcome.end).into());
        }
        kept.extend(outcome.span);
    }

    lack.begin(place)?;
    let begun = Instant::now();
    let mut before_noticed = 0;
    while callers[0].call(&"x".repeat(20_000)).await.end != End::Refused(STORAGE.to_owned()) {
        before_noticed += 1;
        if begun.elapsed() > NOTICED {
            return Err("the lack of room was not noticed".into());
        }
        sleep(Duration::from_millis(10)).await;
    }
    let noticed = begun.elapsed();
    // A call may have been let in a moment before.
    sleep(Duration::from_millis(50)).await;
    let asked = upstream.requests().len();
    let mut slowest = Duration::ZERO;
    for number in 0..CALLS {
        let began = Instant::now();
        let outcome = callers[number % 2].call("still here").await;
        slowest = slowest.max(began.elapsed());
        if outcome.end != End::Refused(STORAGE.to_owned()) {
            return Err(format!("a call without room: {:?}", outcome.end).into());
        }
    }
    let spent = upstream.requests().len() - asked;
    if spent > 0 {
        return Err(format!("the upstream was asked {spent} times without room").into());
    }
    let reads = read(&launch, &function, &kept).await?;
    create(&launch, 503).await?;

    lack.end(place)?;
    let begun = Instant::now();
    while callers[0].call("still here").await.end != End::Answered {
        if begun.elapsed() > RESUMED {
            return Err(format!("service did not resume:\n{}", server.said()).into());
        }
        sleep(Duration::from_millis(20)).await;
    }
    let resumed = begun.elapsed();
    if !launch.is_ready().await {
        return Err("it answers and is not ready".into());
    }
    read(&launch, &function, &kept).await?;
    create(&launch, 201).await?;
    let status = server.stop().await?;
    let database = Database::look(&launch.data_dir())?;
    if !status.success() || database.integrity != "ok" || database.open > 0 {
        return Err(format!("it ended with {status}, {database:?}").into());
    }
    Ok(format!(
        "noticed after {} ms and {before_noticed} calls, then {CALLS} calls refused (slowest {} ms), 0 upstream requests, {reads} reads \
         answered, resumed {} ms after the room came back, integrity ok",
        noticed.as_millis(),
        slowest.as_millis(),
        resumed.as_millis(),
    ))
}

/// Asks for what there is; returns how many times.
async fn read(launch: &Launch, function: &str, spans: &[String]) -> Result<usize, Failure> {
    let mut connection = Connection::open(launch.address, TOKEN).await?;
    let mut paths = vec![
        "/v2/functions".to_owned(),
        format!("/v2/functions/{function}"),
    ];
    paths.extend(spans.iter().map(|span| format!("/v2/spans/{span}")));
    for path in &paths {
        let reply = connection
            .send(Method::GET, path, bytes::Bytes::new())
            .await?;
        if reply.status != 200 {
            return Err(format!("{path}: {} {}", reply.status, reply.json()).into());
        }
    }
    Ok(paths.len())
}

/// Stores a function more, which is to be answered so.
async fn create(launch: &Launch, status: u16) -> Result<(), Failure> {
    let mut connection = Connection::open(launch.address, TOKEN).await?;
    let body = json!({"name": "late", "instructions": "x", "model": "house/tiny"});
    let reply = connection.post("/v2/functions", &body).await?;
    let body = reply.json();
    if reply.status != status || (status == 503 && body["detail"] != "storage") {
        return Err(format!("a create: {} {body}", reply.status).into());
    }
    Ok(())
}

impl Lack {
    fn prepare(&self, launch: &mut Launch, shim: &str) {
        let mib = match self {
            Self::BelowMark { mib } => *mib,
            Self::Full | Self::ReadOnly { .. } => 0,
        };
        launch.set("GATEWRIGHT_STORE__MIN_FREE_MIB", mib.to_string());
        if let Self::ReadOnly { flag } = self {
            launch.set("LD_PRELOAD", shim);
            launch.set("DISK_DIR", launch.data_dir().to_string_lossy());
            launch.set("DISK_READ_ONLY", flag.to_string_lossy());
        }
    }

    fn begin(&self, place: &Path) -> Result<(), Failure> {
        match self {
            Self::BelowMark { mib } => fill(place, mib * MIB / 2),
            Self::Full => fill(place, 0),
            Self::ReadOnly { flag } => {
                File::create(flag)?;
                Ok(())
            }
        }
    }

    fn end(&self, place: &Path) -> Result<(), Failure> {
        match self {
            Self::BelowMark { .. } | Self::Full => fs::remove_file(ballast(place))?,
            Self::ReadOnly { flag } => fs::remove_file(flag)?,
        }
        Ok(())
    }
}

fn ballast(place: &Path) -> PathBuf {
    place.join("ballast")
}

/// Leaves so many bytes free.
fn fill(place: &Path, leave: u64) -> Result<(), Failure> {
    let disk = statvfs(place)?;
    let free = disk.f_bavail * disk.f_frsize;
    if free > 1024 * MIB {
        return Err("the folder is on a large disk: it has to be a small one of its own".into());
    }
    let mut file = File::create(ballast(place))?;
    let block = vec![0x55; 64 * 1024];
    let mut left = free.saturating_sub(leave);
    while left > 0 {
        let length = left.min(block.len() as u64);
        match file.write(&block[..usize::try_from(length)?]) {
            Ok(written) => left -= written as u64,
            Err(error) if error.kind() == std::io::ErrorKind::StorageFull => break,
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
