//! `kill -9` under load: is every span whose id was told still there, and closed?
//!
//! Each round starts the server on the same data directory, lets many callers call, half of them by streams, kills it at a
//! random moment, starts it again and asks for every span of the round and for some of all rounds before. Every fifth
//! round kills a server that is just starting as well. The database is looked through now and then, and at the end.

#![expect(clippy::print_stdout, reason = "the report is what the program is for")]

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use rand::{RngExt, rngs::ChaCha8Rng, seq::IndexedRandom};
use testkit::{
    arguments::Arguments,
    campaign::{Caller, Database, End, Failure, Launch, Outcome, TOKEN, Way, chance},
    client::Connection,
};
use tokio::task::JoinSet;

/// A start above this is a fault: what was begun and never closed must not make the next start slow.
const SLOW_START: Duration = Duration::from_secs(5);
/// A server that answers nobody for so long is not killed, but at fault.
const FIRST_ANSWER: Duration = Duration::from_secs(30);
/// So many of the spans of all rounds before are asked for in each round.
const SAMPLE: usize = 200;
/// Rounds between two looks into the database, and between two starts that are killed.
const LOOK_EVERY: u32 = 10;
const KILL_START_EVERY: u32 = 5;

/// A span that left the server, and whether its call was answered.
#[derive(Clone, Debug)]
struct Told {
    span: String,
    answered: bool,
}

/// The campaign so far.
struct Campaign {
    launch: Launch,
    functions: [(String, Way); 2],
    callers: usize,
    chance: ChaCha8Rng,
    told: Vec<Told>,
    faults: usize,
    slowest: Duration,
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let known = [
        ("server", ""),
        ("rounds", "20"),
        ("callers", "64"),
        ("seed", ""),
    ];
    let arguments = Arguments::read(&known)?;
    let rounds: u32 = arguments.get("rounds")?;
    let callers: usize = arguments.get("callers")?;
    let (chance, seed) = chance(arguments.text("seed"))?;
    let folder = tempfile::tempdir()?;
    let mut launch = Launch::new(arguments.text("server"), folder.path())?;
    println!("kill -9 under load: {rounds} rounds, {callers} callers, seed {seed}");

    let (server, _) = launch.start().await?;
    let functions = [
        (launch.function("plain", "offline/echo").await?, Way::Plain),
        // A stream has begun for some time before its first word, and may be killed then.
        (
            launch.function("streamed", "offline/fail-delay-20").await?,
            Way::Streamed,
        ),
    ];
    server.kill();
    let mut campaign = Campaign {
        launch,
        functions,
        callers,
        chance,
        told: Vec::new(),
        faults: 0,
        slowest: Duration::ZERO,
    };
    for number in 1..=rounds {
        campaign.round(number).await?;
    }
    campaign.conclude().await
}

impl Campaign {
    async fn round(&mut self, number: u32) -> Result<(), Failure> {
        if number.is_multiple_of(KILL_START_EVERY) {
            let starting = self.launch.spawn()?;
            tokio::time::sleep(Duration::from_millis(self.chance.random_range(0..150))).await;
            starting.kill();
        }
        let (server, _) = self.launch.start().await?;
        let answered = Arc::new(AtomicBool::new(false));
        let mut calls = JoinSet::new();
        for number in 0..self.callers {
            let (function, way) = &self.functions[number % 2];
            let caller = Caller::new(self.launch.address, function, *way);
            calls.spawn(call_until_cut(caller, Arc::clone(&answered)));
        }
        first_answer(&answered).await?;
        let moment = Duration::from_millis(self.chance.random_range(0..1000));
        tokio::time::sleep(moment).await;
        server.kill();
        let mut spans = Vec::new();
        while let Some(outcomes) = calls.join_next().await {
            for outcome in outcomes? {
                spans.extend(self.told(outcome));
            }
        }

        let (server, start) = self.launch.start().await?;
        self.slowest = self.slowest.max(start);
        let answered = spans.iter().filter(|told| told.answered).count();
        let begun = spans.len() - answered;
        let mut lost = self.look_for(&spans).await?;
        let sample: Vec<Told> = self
            .told
            .sample(&mut self.chance, SAMPLE)
            .cloned()
            .collect();
        lost += self.look_for(&sample).await?;
        server.kill();
        println!(
            "round {number:>3}: killed {:>3} ms after the first answer, {answered:>5} answered, {begun:>3} begun, {lost} lost, \
             started again in {} ms",
            moment.as_millis(),
            start.as_millis(),
        );
        self.told.append(&mut spans);
        if number.is_multiple_of(LOOK_EVERY) {
            self.look()?;
        }
        Ok(())
    }

    /// What a caller was told of a span. Whatever is neither an answer nor a cut is a fault.
    fn told(&mut self, outcome: Outcome) -> Option<Told> {
        if let End::Refused(why) | End::ErrorEvent(why) = &outcome.end {
            println!("  refused: {:?}: {why}", outcome.span);
            self.faults += 1;
        }
        let answered = outcome.end == End::Answered;
        let span = outcome.span?;
        Some(Told { span, answered })
    }

    /// Returns how many of the spans are not there as they should be: closed, and without an error if they were answered.
    async fn look_for(&mut self, spans: &[Told]) -> Result<usize, Failure> {
        let mut connection = Connection::open(self.launch.address, TOKEN).await?;
        let mut lost = 0;
        for Told { span, answered } in spans {
            let reply = connection.get(&format!("/v2/spans/{span}")).await?;
            let body = reply.json();
            let error = body["error"].as_str();
            let is_right = match error {
                None => true,
                Some(error) => !answered && error.starts_with("InternalServerError: interrupted"),
            };
            if reply.status != 200 || body["end_time"].is_null() || !is_right {
                println!("  lost: {span}: {} {body}", reply.status);
                lost += 1;
            }
        }
        self.faults += lost;
        Ok(lost)
    }

    fn look(&mut self) -> Result<(), Failure> {
        let database = Database::look(&self.launch.data_dir())?;
        println!("the database: {database:?}");
        if database.integrity != "ok" || database.open > 0 {
            self.faults += 1;
        }
        Ok(())
    }

    async fn conclude(mut self) -> Result<(), Failure> {
        let (server, _) = self.launch.start().await?;
        let told = std::mem::take(&mut self.told);
        let lost = self.look_for(&told).await?;
        server.stop().await?;
        self.look()?;
        let answered = told.iter().filter(|told| told.answered).count();
        println!(
            "{answered} spans answered, {} more begun, {lost} lost, {} faults, slowest start {} ms",
            told.len() - answered,
            self.faults,
            self.slowest.as_millis(),
        );
        if self.faults > 0 {
            return Err("what was told was not kept".into());
        }
        if self.slowest > SLOW_START {
            return Err("a start after a kill was slow".into());
        }
        Ok(())
    }
}

async fn first_answer(answered: &AtomicBool) -> Result<(), Failure> {
    let begun = Instant::now();
    while !answered.load(Ordering::Relaxed) {
        if begun.elapsed() > FIRST_ANSWER {
            return Err("no call was answered".into());
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    Ok(())
}

/// Calls until the server is gone; returns what was told of each call.
async fn call_until_cut(mut caller: Caller, answered: Arc<AtomicBool>) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    loop {
        let outcome = caller.call("still here").await;
        match &outcome.end {
            End::Answered => answered.store(true, Ordering::Relaxed),
            End::NotConnected | End::Broken(_) => {
                outcomes.push(outcome);
                return outcomes;
            }
            End::Refused(_) | End::ErrorEvent(_) => {}
        }
        outcomes.push(outcome);
    }
}
