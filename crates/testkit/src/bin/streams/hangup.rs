//! `streams hangup`: many clients leave at random moments; nothing of theirs may stay behind.

use std::{
    hash::{BuildHasher, RandomState},
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use testkit::{Answer, Script, Upstream, arguments::Arguments};

use crate::{
    Failure,
    clients::{self, Left, Plan},
    site::{self, Site},
    verdict,
};

const PIECE: &str = "lorem ";
/// Pieces of an answer, and what stands before and between them: about two seconds in all.
const PIECES: usize = 40;
const HEAD_AFTER: Duration = Duration::from_millis(150);
const FIRST_AFTER: Duration = Duration::from_millis(250);
const PAUSE: Duration = Duration::from_millis(40);
/// A little more than an answer lasts, so that some are read to the end.
const LATEST: Duration = Duration::from_millis(2300);
/// For the last spans to be closed.
const SPANS_WITHIN: Duration = Duration::from_secs(5);
/// Of each kind of fault, so many are told.
const TOLD: usize = 10;

pub(crate) async fn run() -> Result<(), Failure> {
    let arguments = Arguments::read_after_command(&[
        ("server", "http://127.0.0.1:8080"),
        ("token", ""),
        ("clients", "1000"),
        ("seed", "1"),
        ("upstream-port", "9700"),
        ("pid", ""),
        ("may-grow-mib", "64"),
    ])?;
    let port: u16 = arguments.get("upstream-port")?;
    let seed: u64 = arguments.get("seed")?;
    let number: usize = arguments.get("clients")?;
    let pid = site::parse_pid(arguments.text("pid"))?;
    let site = Site::parse(arguments.text("server"), arguments.text("token"))?;
    println!(
        "{number} clients that hang up within {} ms, seed {seed}",
        LATEST.as_millis()
    );
    println!("the server must run with egress.allow = [\"127.0.0.1:{port}\"]");

    let upstream = Upstream::start_on(port, Script::by(|request| slow(&request.json()))).await?;
    let plan = Arc::new(prepare(site, &upstream).await?);
    count_once(&plan.site).await?;
    let before = Weight::of(&plan.site, pid).await?;
    let left = clients::play(&plan, number, seed).await?;
    let idle = upstream.wait_until_idle(verdict::CLOSED_WITHIN).await;

    let mut faults = Faults::default();
    report_clients(&left, &mut faults);
    if !idle {
        let open = upstream.open_requests();
        faults.add(
            "open at the upstream",
            [format!("{open} requests after 1 s")],
        );
    }
    report_closings(&left, &upstream, &mut faults);
    let told = check_spans(&plan.site, &left).await?;
    faults.add("spans", told);
    let after = Weight::of(&plan.site, pid).await?;
    let limit_mib = arguments.get("may-grow-mib")?;
    faults.add("what stays behind", before.compare(&after, limit_mib));
    faults.verdict()
}

/// The answer of a slow upstream.
fn slow(request: &Value) -> Answer {
    let answer = Answer::text(&story()).piece_bytes(PIECE.len());
    if request["stream"] == true {
        return answer
            .after(HEAD_AFTER)
            .first_after(FIRST_AFTER)
            .pause(PAUSE);
    }
    answer.after(LATEST / 2)
}

fn story() -> String {
    PIECE.repeat(PIECES)
}

/// Has tokens counted, as those of a broken stream are: what is loaded for that once does not count as growth.
async fn count_once(site: &Site) -> Result<(), Failure> {
    let call = json!({"name": "count", "model": "offline/echo", "input": "one two three"});
    let reply = site.connect().await?.post("/v2/call", &call).await?;
    if reply.status != 200 {
        return Err(format!("a first call was answered with {}", reply.status).into());
    }
    Ok(())
}

/// Registers the upstream as a model of its own and stores a function that uses it.
async fn prepare(site: Site, upstream: &Upstream) -> Result<Plan, Failure> {
    // The names of an earlier run are taken. The hasher's seed is the standard library's own source of chance.
    let run = format!("hangup-{:016x}", RandomState::new().hash_one(()));
    let model = json!({
        "name": run,
        "identifier": "slow/story",
        "extra": {"api_base": upstream.base_url()},
    });
    site.make("/v2/models/custom", &model, "id").await?;
    let function = json!({"name": run, "instructions": "Tell a story.", "model": run});
    let reply = site
        .connect()
        .await?
        .post("/v2/functions", &function)
        .await?;
    let stored = reply.json();
    let (Some(id), Some(revision)) = (stored["id"].as_str(), stored["revision_id"].as_str()) else {
        return Err(format!("no function was stored: {stored}").into());
    };
    Ok(Plan {
        site,
        plain_path: format!("/v2/functions/{id}/call/{revision}"),
        stream_path: format!("/v2/functions/{id}/call/stream"),
        latest: LATEST,
    })
}

fn report_clients(left: &[Left], faults: &mut Faults) {
    let count = |which: &dyn Fn(&Left) -> bool| left.iter().filter(|left| which(left)).count();
    println!(
        "{} left before a span id, {} with one and no text, {} in the middle, {} had the whole answer",
        count(&|left| left.span.is_none()),
        count(&|left| left.span.is_some() && !left.done && left.text.is_empty()),
        count(&|left| !left.done && !left.text.is_empty()),
        count(&|left| left.done),
    );
    if count(&|left| left.span.is_some() && !left.done) == 0 {
        let nothing = "nobody left after having seen a span id, so nothing was shown";
        faults.add("clients", [nothing.to_owned()]);
    }
    let refused = left.iter().filter_map(|left| {
        let why = left.refused.as_ref()?;
        Some(format!("{}: {why}", clients::mark(left.number)))
    });
    faults.add("clients refused", refused);
}

fn report_closings(left: &[Left], upstream: &Upstream, faults: &mut Faults) {
    let requests = upstream.requests();
    let (delays, wrong) = verdict::closings(left, &requests, &upstream.endings());
    let at = |percent: usize| {
        let rank = (delays.len() * percent).div_ceil(100);
        let delay = delays.get(rank.saturating_sub(1));
        delay.map_or(0, Duration::as_millis)
    };
    println!(
        "{} requests came to the upstream; they ended after their client by p50 {} ms, p99 {} ms, at most {} ms",
        requests.len(),
        at(50),
        at(99),
        at(100),
    );
    faults.add("closed late", wrong);
}

/// Returns what is wrong with the spans whose id was seen.
async fn check_spans(site: &Site, left: &[Left]) -> Result<Vec<String>, Failure> {
    let deadline = Instant::now() + SPANS_WITHIN;
    let whole = story();
    let mut connection = site.connect().await?;
    let (mut seen, mut wrong) = (0, Vec::new());
    // What was refused is told already.
    for left in left.iter().filter(|left| left.refused.is_none()) {
        let Some(id) = &left.span else { continue };
        seen += 1;
        loop {
            let reply = connection.get(&format!("/v2/spans/{id}")).await?;
            let fault = if reply.status == 200 {
                verdict::span_fault(left, &reply.json(), &whole)
            } else {
                Some(format!("it was answered with {}", reply.status))
            };
            let Some(fault) = fault else { break };
            if Instant::now() >= deadline {
                wrong.push(format!("{} of {}: {fault}", id, clients::mark(left.number)));
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    println!("{seen} spans looked at, {} wrong", wrong.len());
    Ok(wrong)
}

/// What the server holds.
struct Weight {
    resident_kib: Option<u64>,
    under_way: Option<f64>,
}

impl Weight {
    async fn of(site: &Site, pid: Option<u32>) -> Result<Self, Failure> {
        Ok(Self {
            resident_kib: pid.map(site::resident_kib).transpose()?,
            under_way: site.under_way().await?,
        })
    }

    fn compare(&self, after: &Self, limit_mib: u64) -> Vec<String> {
        let mut faults = Vec::new();
        if let (Some(before), Some(after)) = (self.resident_kib, after.resident_kib) {
            println!(
                "resident memory: {} MiB before, {} MiB after",
                before / 1024,
                after / 1024
            );
            if after.saturating_sub(before) > limit_mib * 1024 {
                faults.push(format!("the memory has grown by more than {limit_mib} MiB"));
            }
        }
        match (self.under_way, after.under_way) {
            (Some(before), Some(after)) => {
                println!("calls under way: {before} before, {after} after");
                if after > before {
                    faults.push("calls are still under way".to_owned());
                }
            }
            _ => println!("calls under way: the server does not tell"),
        }
        faults
    }
}

/// All that went wrong; told at once, counted for the end.
#[derive(Default)]
struct Faults(usize);

impl Faults {
    fn add(&mut self, kind: &str, faults: impl IntoIterator<Item = String>) {
        let faults: Vec<String> = faults.into_iter().collect();
        for fault in faults.iter().take(TOLD) {
            println!("  {kind}: {fault}");
        }
        if faults.len() > TOLD {
            println!("  {kind}: {} more", faults.len() - TOLD);
        }
        self.0 += faults.len();
    }

    fn verdict(self) -> Result<(), Failure> {
        if self.0 > 0 {
            return Err(format!("{} faults", self.0).into());
        }
        println!("nothing stays behind");
        Ok(())
    }
}
