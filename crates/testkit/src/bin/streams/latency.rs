//! `streams latency`: the time to the first piece of text with many streams open, and what an open stream weighs.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use testkit::{
    arguments::Arguments,
    client::{Connection, Stream},
    events::Event,
};
use tokio::{
    sync::Semaphore,
    task::{JoinError, JoinSet},
    time::timeout,
};

use crate::{
    Failure,
    site::{self, Site},
};

/// For all streams of a row to have begun.
const PATIENCE: Duration = Duration::from_mins(1);

/// One of the two that are compared.
struct Side {
    site: Site,
    path: String,
    body: Value,
    /// Where a piece of text stands in an event's data.
    text: &'static str,
}

/// What one side showed with so many streams open.
struct Seen {
    sorted: Vec<Duration>,
    resident_kib: u64,
}

pub(crate) async fn run() -> Result<(), Failure> {
    let arguments = Arguments::read_after_command(&[
        ("server", "http://127.0.0.1:8080"),
        ("token", ""),
        ("function", ""),
        ("upstream", "http://127.0.0.1:9400"),
        ("open", "1,100,1000"),
        ("samples", "200"),
        ("pid", ""),
    ])?;
    let pid = site::parse_pid(arguments.text("pid"))?;
    let samples: usize = arguments.get("samples")?;
    let rows = counts(arguments.text("open"))?;
    let (server, upstream) = sides(&arguments)?;

    // What the first stream of a process brings with it is not a stream's weight.
    first_text(&server).await?.1.hang_up().await;
    let idle_kib = pid.map(site::resident_kib).transpose()?.unwrap_or(0);
    println!("time to the first piece of text, {samples} samples each; times in ms");
    println!(
        "{:>6} | {:>18} | {:>18} | {:>18} | {:>14}",
        "open", "server p50 / p99", "direct p50 / p99", "added p50 / p99", "KiB per stream"
    );
    for open in rows {
        let direct = measure(&upstream, open, samples, None).await?;
        let through = measure(&server, open, samples, pid).await?;
        let weight = pid.map_or_else(
            || "no --pid".to_owned(),
            |_| per_stream(through.resident_kib.saturating_sub(idle_kib), open),
        );
        let pair = |at: &dyn Fn(usize) -> f64| format!("{:.2} / {:.2}", at(50), at(99));
        println!(
            "{open:>6} | {:>18} | {:>18} | {:>18} | {weight:>14}",
            pair(&|percent| through.percentile(percent)),
            pair(&|percent| direct.percentile(percent)),
            pair(&|percent| through.percentile(percent) - direct.percentile(percent)),
        );
    }
    Ok(())
}

fn sides(arguments: &Arguments) -> Result<(Arc<Side>, Arc<Side>), Failure> {
    let server = Side {
        site: Site::parse(arguments.text("server"), arguments.text("token"))?,
        path: format!("/v2/functions/{}/call/stream", arguments.text("function")),
        body: json!({"input": "Tell a story."}),
        text: "/delta",
    };
    let upstream = Side {
        site: Site::parse(arguments.text("upstream"), "none")?,
        path: "/v1/chat/completions".to_owned(),
        body: json!({
            "model": "fast-1",
            "messages": [{"role": "user", "content": "Tell a story."}],
            "stream": true,
            "stream_options": {"include_usage": true},
        }),
        text: "/choices/0/delta/content",
    };
    Ok((Arc::new(server), Arc::new(upstream)))
}

fn counts(text: &str) -> Result<Vec<usize>, Failure> {
    let counts = text.split(',').map(|count| match count.trim().parse() {
        Ok(0) | Err(_) => Err(format!("`--open {text}`: numbers from 1 on were expected").into()),
        Ok(count) => Ok(count),
    });
    counts.collect()
}

/// Keeps all streams but one open, and begins that one again and again.
async fn measure(
    side: &Arc<Side>,
    open: usize,
    samples: usize,
    pid: Option<u32>,
) -> Result<Seen, Failure> {
    let begun = Arc::new(Semaphore::new(0));
    let mut held = JoinSet::new();
    for _ in 1..open {
        held.spawn(hold(Arc::clone(side), Arc::clone(&begun)));
    }
    let all_begun = begun.acquire_many(u32::try_from(open - 1)?);
    tokio::select! {
        all = timeout(PATIENCE, all_begun) => {
            let _permits = all.map_err(|_| "not all streams have begun in time")??;
        }
        Some(ended) = held.join_next() => return Err(failure(ended)),
    }
    let mut sorted = Vec::with_capacity(samples);
    let mut resident_kib = 0;
    for _ in 0..samples {
        let (waited, connection, _stream) = first_text(side).await?;
        sorted.push(waited);
        if let Some(pid) = pid {
            resident_kib = resident_kib.max(site::resident_kib(pid)?);
        }
        connection.hang_up().await;
    }
    if let Some(ended) = held.try_join_next() {
        return Err(failure(ended));
    }
    held.shutdown().await;
    sorted.sort_unstable();
    Ok(Seen {
        sorted,
        resident_kib,
    })
}

fn failure(ended: Result<Failure, JoinError>) -> Failure {
    ended.unwrap_or_else(Into::into)
}

/// Reads streams one after the other for ever; returns what went wrong.
async fn hold(side: Arc<Side>, begun: Arc<Semaphore>) -> Failure {
    let mut first = true;
    loop {
        let (_connection, mut stream) = match first_text(&side).await {
            Ok((_, connection, stream)) => (connection, stream),
            Err(failure) => return failure,
        };
        if std::mem::take(&mut first) {
            begun.add_permits(1);
        }
        while stream.next_event().await.is_some() {}
    }
}

/// Begins a stream on a connection of its own; counts from the request to the first piece of text.
async fn first_text(side: &Side) -> Result<(Duration, Connection, Stream), Failure> {
    let mut connection = side.site.connect().await?;
    let asked = Instant::now();
    let mut stream = connection.open_stream(&side.path, &side.body).await?;
    if stream.status != 200 {
        let reply = stream.into_reply().await?;
        let said = reply.json();
        return Err(format!("`{}` was answered with {}: {said}", side.path, reply.status).into());
    }
    while let Some(event) = stream.next_event().await {
        if has_text(&event, side.text) {
            return Ok((asked.elapsed(), connection, stream));
        }
    }
    Err(format!("a stream of `{}` had no text", side.path).into())
}

fn has_text(event: &Event, pointer: &str) -> bool {
    let data = event.json();
    let text = data.pointer(pointer).and_then(Value::as_str);
    text.is_some_and(|text| !text.is_empty())
}

fn per_stream(kib: u64, open: usize) -> String {
    let tenths = kib * 10 / open as u64;
    format!("{}.{}", tenths / 10, tenths % 10)
}

impl Seen {
    /// Returns the smallest time that `percent` of all are not above, in milliseconds.
    fn percentile(&self, percent: usize) -> f64 {
        let rank = (self.sorted.len() * percent).div_ceil(100);
        let time = self.sorted.get(rank.saturating_sub(1));
        time.map_or(0.0, |time| time.as_secs_f64() * 1000.0)
    }
}

#[cfg(test)]
mod tests {
    use testkit::{Answer, Upstream};

    use super::*;

    #[tokio::test]
    async fn a_side_is_measured_with_the_others_open() {
        let pause = Duration::from_millis(5);
        let answer = Answer::text(&"word ".repeat(200)).pause(pause);
        let upstream = Upstream::start(answer.first_after(pause)).await;
        let side = Arc::new(Side {
            site: Site::parse(&upstream.authority(), "none").unwrap(),
            path: "/v1/chat/completions".to_owned(),
            body: json!({"stream": true}),
            text: "/choices/0/delta/content",
        });

        let seen = measure(&side, 5, 3, Some(std::process::id()))
            .await
            .unwrap();

        assert!(seen.sorted.len() == 3 && seen.sorted[0] >= pause && seen.resident_kib > 0);
        assert_eq!(upstream.requests().len(), 7);
    }

    #[tokio::test]
    async fn a_refused_stream_is_a_failure() {
        let upstream = Upstream::start(Answer::error(503, "full")).await;
        let side = Arc::new(Side {
            site: Site::parse(&upstream.authority(), "none").unwrap(),
            path: "/x".to_owned(),
            body: json!({}),
            text: "/delta",
        });

        let failure = measure(&side, 2, 1, None).await.err().unwrap().to_string();

        assert!(
            failure.starts_with("`/x` was answered with 503"),
            "{failure}"
        );
    }

    #[test]
    fn counts_of_streams_are_read() {
        assert_eq!(counts("1, 100").unwrap(), [1, 100]);
        assert!(counts("0").is_err() && counts("").is_err());
    }
}
