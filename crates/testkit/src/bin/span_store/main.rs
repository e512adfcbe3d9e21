//! What a store full of spans costs: reading one by its id, listing what hangs at one, starting, and forgetting.
//!
//! Each level fills the same data directory further (with `--fill`, the program `fill-spans`), starts the server on it and
//! asks for spans at random. At the last level spans are forgotten under calls. Fails if a span is missing, if a reading takes
//! more than three times as long as at the first level, if a start takes 5 s, or if forgetting makes calls wait.

#![expect(clippy::print_stdout, reason = "the report is what the program is for")]

mod site;

use std::{error::Error, path::PathBuf, time::Duration};

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::json;
use testkit::{arguments::Arguments, mixed, recorded};
use tokio::time::Instant;

use self::site::Site;

type Failure = Box<dyn Error + Send + Sync>;

/// Readings before those that count.
const WARM: u64 = 200;
/// Spans that get metrics, and how many each.
const MEASURED: u64 = 50;
const METRICS: usize = 3;
/// For each of the two times that calls are watched.
const WATCH: Duration = Duration::from_secs(4);
/// What a start may take with any store.
const SLOW_START: Duration = Duration::from_secs(5);
/// How much longer than at the first level a reading may take.
const FLAT: f64 = 3.0;
/// What forgetting may add to the 99th percentile of calls.
const UNFELT: Duration = Duration::from_millis(25);

/// What one level showed.
struct Level {
    spans: u64,
    gib: f64,
    missing: usize,
    get: Times,
    list: Times,
    start: Duration,
    after_kill: Duration,
}

/// The middle and the slow end of some times, in milliseconds.
#[derive(Clone, Copy)]
struct Times {
    p50: f64,
    p99: f64,
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let arguments = Arguments::read(&[
        ("server", ""),
        ("fill", ""),
        ("levels", "10000,1000000"),
        ("bytes", "400"),
        ("gib", "1000000"),
        ("requests", "2000"),
    ])?;
    let folder = tempfile::tempdir()?;
    let site = Site::new(
        [arguments.text("server"), arguments.text("fill")].map(PathBuf::from),
        folder.path(),
        arguments.get("bytes")?,
        arguments.get("gib")?,
    )?;
    let requests: u64 = arguments.get("requests")?;
    let (server, _) = site.start(&[]).await?;
    server.stop().await?;

    let (mut levels, mut bytes) = (Vec::new(), 0);
    println!(
        "      spans      GiB   get p50   get p99  list p50  list p99     start  after kill   (ms)"
    );
    for level in arguments.text("levels").split(',') {
        let from = levels.last().map_or(0, |level: &Level| level.spans);
        let filled = site.fill(from, level.parse()?)?;
        bytes = filled.bytes;
        let level = measured(&site, filled.spans, requests).await?;
        println!(
            "{:>11} {:>8.2} {:>9.2} {:>9.2} {:>9.2} {:>9.2} {:>9.0} {:>11.0}",
            level.spans,
            level.gib,
            level.get.p50,
            level.get.p99,
            level.list.p50,
            level.list.p99,
            millis(level.start),
            millis(level.after_kill),
        );
        levels.push(level);
    }
    let mut faults = judged(&levels);
    faults.extend(forgotten(&site, bytes).await?);
    for fault in &faults {
        println!("fault: {fault}");
    }
    let checks = 4 * levels.len() + 2;
    println!("{} passed, {} failed", checks - faults.len(), faults.len());
    if faults.is_empty() {
        return Ok(());
    }
    Err("the store does not stay flat".into())
}

/// Reads at random from a store of so many spans.
async fn measured(site: &Site, spans: u64, requests: u64) -> Result<Level, Failure> {
    let (server, start) = site.start(&[]).await?;
    let mut connection = site.connect().await?;
    let chance = |count: u64| recorded::id(mixed(count) % spans);
    for count in 0..WARM {
        connection
            .get(&format!("/v2/spans/{}", chance(count)))
            .await?;
    }
    let bar = bar(requests, "reading spans")?;
    let (mut times, mut missing) = (Vec::new(), 0);
    for count in WARM..WARM + requests {
        let path = format!("/v2/spans/{}", chance(count));
        let begun = Instant::now();
        let reply = connection.get(&path).await?;
        times.push(begun.elapsed());
        missing += usize::from(reply.status != 200 || reply.json()["output"].is_null());
        bar.inc(1);
    }
    bar.finish_and_clear();
    let mut lists = Vec::new();
    for count in 0..MEASURED {
        let path = format!("/v2/spans/{}/metrics", chance(count));
        for _ in 0..METRICS {
            connection
                .post(&path, &json!({"dimension": "speed", "value": 1}))
                .await?;
        }
        let begun = Instant::now();
        let reply = connection.get(&path).await?;
        lists.push(begun.elapsed());
        missing += usize::from(
            reply.status != 200 || reply.json()["meta"]["total_count"].as_u64() < Some(3),
        );
    }
    drop(server);
    let (server, after_kill) = site.start(&[]).await?;
    server.stop().await?;
    Ok(Level {
        spans,
        gib: site.gib()?,
        missing,
        get: Times::of(times),
        list: Times::of(lists),
        start,
        after_kill,
    })
}

fn judged(levels: &[Level]) -> Vec<String> {
    let mut faults = Vec::new();
    let Some(first) = levels.first() else {
        return faults;
    };
    for level in levels {
        let spans = level.spans;
        if level.missing > 0 {
            faults.push(format!(
                "{} answers were wrong at {spans} spans",
                level.missing
            ));
        }
        let slower = |times: Times, before: Times| times.p50 / before.p50;
        let (get, list) = (slower(level.get, first.get), slower(level.list, first.list));
        println!(
            "{spans:>11} spans: get {get:.2} times, list {list:.2} times as long as at the first level"
        );
        for (what, times) in [("getting a span", get), ("listing metrics", list)] {
            if times > FLAT {
                faults.push(format!(
                    "{what} takes {times:.1} times as long at {spans} spans"
                ));
            }
        }
        let slowest = level.start.max(level.after_kill);
        if slowest > SLOW_START {
            faults.push(format!(
                "a start took {} ms at {spans} spans",
                slowest.as_millis()
            ));
        }
    }
    faults
}

/// Watches calls, without forgetting and while half of the spans are being forgotten.
async fn forgotten(site: &Site, bytes: u64) -> Result<Vec<String>, Failure> {
    let (server, _) = site.start(&[]).await?;
    let path = site.function().await?;
    let (usual, _) = watched(site, &path, "calling").await?;
    server.stop().await?;
    #[expect(clippy::cast_precision_loss, reason = "half of it, more or less")]
    let half = (bytes as f64 / 2.0 / 1_073_741_824.0).to_string();
    let (server, _) = site.start(&[("GATEWRIGHT_SPANS__MAX_GIB", &half)]).await?;
    let (meanwhile, calls) = watched(site, &path, "calling while spans are forgotten").await?;
    let gone = site.forgotten().await?;
    server.stop().await?;
    println!(
        "calls: p50 {:.2} ms, p99 {:.2} ms; while {gone} spans were forgotten in {} s beside {calls} calls: p50 {:.2} ms, p99 \
         {:.2} ms",
        usual.p50,
        usual.p99,
        WATCH.as_secs(),
        meanwhile.p50,
        meanwhile.p99,
    );
    let mut faults = Vec::new();
    if gone == 0 {
        faults.push("nothing was forgotten".to_owned());
    }
    if meanwhile.p99 > usual.p99 * 2.0 + millis(UNFELT) {
        faults.push("calls waited for what was forgotten".to_owned());
    }
    Ok(faults)
}

/// Calls one after the other for a while.
async fn watched(site: &Site, path: &str, what: &'static str) -> Result<(Times, usize), Failure> {
    let mut connection = site.connect().await?;
    let (mut times, begun) = (Vec::new(), Instant::now());
    let bar = bar(WATCH.as_secs(), what)?;
    while begun.elapsed() < WATCH {
        let called = Instant::now();
        let reply = connection
            .post(path, &json!({"input": "still here"}))
            .await?;
        times.push(called.elapsed());
        if reply.status != 200 {
            return Err(format!("a call was answered {}", reply.status).into());
        }
        bar.set_position(begun.elapsed().as_secs());
    }
    bar.finish_and_clear();
    let count = times.len();
    Ok((Times::of(times), count))
}

impl Times {
    fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        let at = |share: usize| {
            let place = times.len() * share / 100;
            times.get(place).map_or(0.0, |time| millis(*time))
        };
        Self {
            p50: at(50),
            p99: at(99),
        }
    }
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

fn bar(length: u64, what: &'static str) -> Result<ProgressBar, Failure> {
    let style = ProgressStyle::with_template("{msg} {wide_bar} {pos}/{len}, {eta} left")?;
    Ok(ProgressBar::new(length)
        .with_style(style)
        .with_message(what))
}
