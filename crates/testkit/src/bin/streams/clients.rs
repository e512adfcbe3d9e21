//! Clients that start a call and hang up at a moment of their own.

use std::{
    io,
    sync::Arc,
    time::{Duration, Instant},
};

use http::HeaderMap;
use serde_json::{Value, json};
use testkit::{Chance, client::Connection};
use tokio::{task::JoinSet, time::timeout};

use crate::{Failure, site::Site};

/// Every client of this number, and of its multiples, calls without a stream.
const PLAIN_EVERY: usize = 4;

/// What the clients call, and within which time they hang up.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) site: Site,
    pub(crate) plain_path: String,
    pub(crate) stream_path: String,
    pub(crate) latest: Duration,
}

/// What a client had when it hung up.
#[derive(Clone, Debug, Default)]
pub(crate) struct Left {
    pub(crate) number: usize,
    pub(crate) span: Option<String>,
    /// The text so far.
    pub(crate) text: String,
    /// It had the whole answer.
    pub(crate) done: bool,
    /// Why it had something else than an answer.
    pub(crate) refused: Option<String>,
    pub(crate) at: Option<Instant>,
}

/// Returns what a client calls with; its mark tells whose request the upstream has.
pub(crate) fn mark(number: usize) -> String {
    format!("client-{number:06}")
}

/// Lets all clients start at once; returns what each had when it left.
pub(crate) async fn play(
    plan: &Arc<Plan>,
    clients: usize,
    seed: u64,
) -> Result<Vec<Left>, Failure> {
    let mut chance = Chance::new(seed);
    let mut running = JoinSet::new();
    for number in 0..clients {
        let moment = chance.below(plan.latest);
        running.spawn(client(Arc::clone(plan), number, moment));
    }
    let mut left = Vec::with_capacity(clients);
    while let Some(client) = running.join_next().await {
        left.push(client??);
    }
    left.sort_unstable_by_key(|left: &Left| left.number);
    Ok(left)
}

async fn client(plan: Arc<Plan>, number: usize, moment: Duration) -> Result<Left, Failure> {
    let mut connection = plan.site.connect().await?;
    let mut left = Left {
        number,
        ..Left::default()
    };
    let said = if number.is_multiple_of(PLAIN_EVERY) {
        timeout(moment, call(&plan, &mut connection, &mut left)).await
    } else {
        timeout(moment, stream(&plan, &mut connection, &mut left)).await
    };
    if let Ok(Err(error)) = said {
        left.refused = Some(format!("the connection broke: {error}"));
    }
    left.at = Some(Instant::now());
    connection.hang_up().await;
    Ok(left)
}

async fn call(plan: &Plan, connection: &mut Connection, left: &mut Left) -> io::Result<()> {
    let body = json!({"input": mark(left.number)});
    let reply = connection.post(&plan.plain_path, &body).await?;
    left.span = span_id(&reply.headers);
    let body = reply.json();
    if reply.status == 200 {
        body["message"]
            .as_str()
            .unwrap_or_default()
            .clone_into(&mut left.text);
        left.done = true;
    } else {
        left.refused = Some(format!("{}: {body}", reply.status));
    }
    Ok(())
}

async fn stream(plan: &Plan, connection: &mut Connection, left: &mut Left) -> io::Result<()> {
    let body = json!({"input": mark(left.number)});
    let mut stream = connection.open_stream(&plan.stream_path, &body).await?;
    left.span = span_id(&stream.headers);
    if stream.status != 200 {
        let status = stream.status;
        let body = stream.into_reply().await?.json();
        left.refused = Some(format!("{status}: {body}"));
        return Ok(());
    }
    while let Some(event) = stream.next_event().await {
        let data: Value = event.json();
        if left.span.is_none() {
            left.span = data["span_id"].as_str().map(str::to_owned);
        }
        left.text
            .push_str(data["delta"].as_str().unwrap_or_default());
        match event.name.as_deref() {
            Some("done") => left.done = true,
            Some("error") => left.refused = Some(format!("an error event: {data}")),
            _ => {}
        }
    }
    if !left.done && left.refused.is_none() {
        left.refused = Some("the stream ended without a closing event".to_owned());
    }
    Ok(())
}

fn span_id(headers: &HeaderMap) -> Option<String> {
    Some(headers.get("x-span-id")?.to_str().ok()?.to_owned())
}
