//! A task: handed in, asked after, and fetched.

use std::{borrow::Cow, time::Duration};

use domain::seams::{ProviderError, ProviderErrorKind as Kind, Target};
use http::HeaderMap;
use serde::{Deserialize, de::DeserializeOwned};
use tokio::time::{Instant, sleep};

use super::{
    document::{Failure, Outcome},
    fault,
    request::Body,
};
use crate::reading::brief;
use crate::wire::{Client, Fault, Head, MAX_PAGES_BYTES, WireAnswer, WireRequest, secret_header};

const KEY_HEADER: &str = "x-api-key";
/// So long the server is to wait for a task before it says how it stands.
const PATIENCE_SECONDS: u8 = 5;
/// Between two questions to a server that does not wait: first, and at most.
const PAUSES: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(2));
/// For an answer to such a question, which is small.
const POLL_TIMEOUT: Duration = Duration::from_secs(30);
/// So often in a row a question may fail while the task itself goes on.
const MAX_FAILURES: u32 = 3;
const MAX_WAIT: Duration = Duration::from_secs(30);

/// A server, with a key for it.
pub(super) struct Server<'a> {
    client: &'a Client,
    target: &'a Target,
    /// The same for small answers.
    for_polls: Target,
    headers: HeaderMap,
}

/// How a task stands.
#[derive(Deserialize)]
struct Task {
    #[serde(rename = "task_id")]
    id: String,
    #[serde(rename = "task_status")]
    status: String,
    error_message: Option<String>,
    failure: Option<Failure>,
}

/// What follows from how a task stands.
enum Stand {
    UnderWay,
    Done,
    Failed(Fault),
}

impl<'a> Server<'a> {
    pub(super) fn new(client: &'a Client, target: &'a Target) -> Result<Self, ProviderError> {
        let mut headers = HeaderMap::new();
        if let Some(key) = &target.key {
            headers.insert(KEY_HEADER, secret_header(key.expose().to_owned())?);
        }
        let for_polls = Target {
            timeout: target.timeout.min(POLL_TIMEOUT),
            ..target.clone()
        };
        Ok(Self {
            client,
            target,
            for_polls,
            headers,
        })
    }

    /// Has a document converted.
    pub(super) async fn convert(&self, body: &Body<'_>) -> Result<Outcome, ProviderError> {
        let (head, task) = self.submit(body).await?;
        match task.stand() {
            Stand::UnderWay => self.wait_for(&task.id).await?,
            Stand::Done => {}
            Stand::Failed(fault) => return Err(head.failure(self.target, fault)),
        }
        self.fetch(&task.id).await
    }

    /// That nothing came of the pages.
    pub(super) fn no_pages(&self, first: &str) -> ProviderError {
        Head::plain().failure(self.target, fault::no_pages(first))
    }

    /// What may be told of the server's words.
    pub(super) fn told(&self, words: &str) -> String {
        let failure = Head::plain().failure(self.target, Fault::protocol(words));
        brief(failure).reason
    }

    async fn submit(&self, body: &Body<'_>) -> Result<(Head, Task), ProviderError> {
        let wire = WireRequest {
            instead_of: Some("v1"),
            headers: self.headers.clone(),
            ..WireRequest::json("v1/convert/source/async", body)
        };
        let answer = self.client.send(self.target, wire).await?;
        self.read(&answer, fault::no_such_request)
    }

    /// Returns when the task is done.
    async fn wait_for(&self, id: &str) -> Result<(), ProviderError> {
        let (mut pause, longest) = PAUSES;
        let mut failures = 0;
        loop {
            let asked = Instant::now();
            let pausing = match self.ask_after(id).await {
                Ok((_, Stand::Done)) => return Ok(()),
                Ok((head, Stand::Failed(fault))) => return Err(head.failure(self.target, fault)),
                Ok((_, Stand::UnderWay)) => {
                    failures = 0;
                    let pausing = pause.saturating_sub(asked.elapsed());
                    pause = longest.min(pause * 2);
                    pausing
                }
                // Whoever began anew would have the document converted twice.
                Err(failure) if failures < MAX_FAILURES && passes(&failure) => {
                    failures += 1;
                    failure.retry_after.unwrap_or(longest / 2).min(MAX_WAIT)
                }
                Err(failure) => return Err(failure),
            };
            sleep(pausing).await;
        }
    }

    async fn ask_after(&self, id: &str) -> Result<(Head, Stand), ProviderError> {
        let mut wire = self.about("v1/status/poll", id);
        wire.query.push(("wait", PATIENCE_SECONDS.to_string()));
        let answer = self.client.get(&self.for_polls, wire).await?;
        let (head, task): (_, Task) = self.read(&answer, fault::lost)?;
        Ok((head, task.stand()))
    }

    async fn fetch(&self, id: &str) -> Result<Outcome, ProviderError> {
        let mut failures = 0;
        loop {
            let wire = WireRequest {
                max_answer_bytes: MAX_PAGES_BYTES,
                ..self.about("v1/result", id)
            };
            let answer = self.client.get(self.target, wire).await;
            let read = answer.and_then(|answer| self.outcome(&answer));
            match read {
                Err(failure) if failures < MAX_FAILURES && failure.kind.may_retry() => {
                    failures += 1;
                    let wait = failure.retry_after.unwrap_or(PAUSES.1 / 2);
                    sleep(wait.min(MAX_WAIT)).await;
                }
                read => return read,
            }
        }
    }

    fn outcome(&self, answer: &WireAnswer) -> Result<Outcome, ProviderError> {
        let (head, outcome): (_, Outcome) = self.read(answer, fault::lost)?;
        match outcome.fault() {
            Some(fault) => Err(head.failure(self.target, fault)),
            None => Ok(outcome),
        }
    }

    fn about(&self, path: &'static str, id: &str) -> WireRequest {
        let mut wire = WireRequest {
            instead_of: Some("v1"),
            headers: self.headers.clone(),
            ..WireRequest::bare(path)
        };
        wire.segments.push(Cow::Owned(id.to_owned()));
        wire
    }

    fn read<T: DeserializeOwned>(
        &self,
        answer: &WireAnswer,
        not_found: fn() -> Fault,
    ) -> Result<(Head, T), ProviderError> {
        let WireAnswer { head, body, .. } = answer;
        let read = match head.status {
            404 => Err(not_found()),
            _ if head.is_success() => serde_json::from_slice(body).map_err(|error| {
                if error.is_data() {
                    Fault::protocol("the provider's answer is none of docling-serve's")
                } else {
                    Fault::no_json()
                }
            }),
            status => Err(fault::of_status(status, body)),
        };
        let read = read.map_err(|fault| head.failure(self.target, fault));
        read.map(|read| (*head, read))
    }
}

/// Whether a question that failed so may be asked again.
fn passes(failure: &ProviderError) -> bool {
    let is_lost = failure.status == Some(404);
    let may_pass = matches!(failure.kind, Kind::Timeout | Kind::Failed | Kind::Protocol);
    failure.kind.may_retry() || (may_pass && !is_lost)
}

impl Task {
    fn stand(&self) -> Stand {
        match self.status.as_str() {
            "success" | "partial_success" => Stand::Done,
            "failure" | "skipped" => {
                let message = self.error_message.as_deref();
                Stand::Failed(fault::of_task(self.failure.as_ref(), message))
            }
            _ => Stand::UnderWay,
        }
    }
}
