//! The exact cache (`interface.md` 15.5): equal calls are answered once, and those that come meanwhile wait.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use aws_lc_rs::digest::{Context, SHA256};
use domain::{
    ChatRequest, Example, FinishReason, Json, JsonObject, Kept, SpanId, Timestamp,
    seams::{Cache, CacheKey, Clock},
};
use tokio::{sync::watch, time::Instant};

use crate::{
    error::Error,
    route::{Reachable, Stop},
};

use super::{open::Call, task::Task};

/// Keeps answers, and knows which are on their way.
pub(super) struct Cached {
    cache: Arc<dyn Cache>,
    /// When it was opened, by both clocks: from then on the steady one counts, which nobody sets.
    opened: (Timestamp, Instant),
    flights: Arc<Mutex<Flights>>,
}

type Flights = HashMap<CacheKey, watch::Sender<Flight>>;

/// An answer on its way to those who wait for it.
#[derive(Clone)]
enum Flight {
    UnderWay,
    /// It came.
    Landed(Kept),
    /// It will not come, for a reason that would be the same for everybody.
    Failed(Error, SpanId),
    /// The one whose turn it was has left.
    GivenUp,
}

/// Whose turn it is to ask.
pub(super) enum Turn {
    /// Somebody asked before.
    Kept(Kept),
    /// Somebody asked meanwhile, in vain; with the span that tells of it.
    Failed(Error, SpanId),
    /// The one who holds this asks, and tells the others.
    Lead(Lead),
}

/// The duty to tell those who wait. Dropped without a word, one of them takes the turn.
pub(super) struct Lead {
    key: CacheKey,
    flights: Arc<Mutex<Flights>>,
    has_told: bool,
}

/// Who else waits for a call's answer: while anybody does, its own caller may leave.
#[derive(Default)]
pub(super) struct Company(OnceLock<watch::Sender<Flight>>);

impl Company {
    /// Returns when nobody waits for the answer.
    pub(super) async fn gone(&self) {
        if let Some(flight) = self.0.get() {
            flight.closed().await;
        }
    }
}

impl Cached {
    pub(super) fn new(cache: Arc<dyn Cache>, clock: &dyn Clock) -> Self {
        Self {
            cache,
            opened: (clock.now(), Instant::now()),
            flights: Arc::default(),
        }
    }

    /// Finds an answer, waits for one, or hands out the turn to make one.
    pub(super) async fn turn(&self, key: CacheKey, company: &Company) -> Turn {
        loop {
            let mut waiting = match self.join(key, company) {
                Ok(lead) => {
                    // Looked up with the turn in hand: whoever had it before kept the answer first.
                    return match self.cache.get(&key, self.now()).await {
                        Some(kept) => {
                            lead.land(kept.clone());
                            Turn::Kept(kept)
                        }
                        None => Turn::Lead(lead),
                    };
                }
                Err(waiting) => waiting,
            };
            let told = waiting
                .wait_for(|flight| !matches!(flight, Flight::UnderWay))
                .await;
            match told.as_deref() {
                Ok(Flight::Landed(kept)) => return Turn::Kept(kept.clone()),
                Ok(Flight::Failed(error, of)) => return Turn::Failed(error.clone(), *of),
                Ok(Flight::GivenUp | Flight::UnderWay) | Err(_) => {}
            }
        }
    }

    /// Keeps an answer that a call with this setting may keep, and tells those who wait.
    pub(super) async fn keep(&self, call: &Call, lead: Lead, kept: Kept) {
        // A call of a tool is as good an answer as a text.
        if matches!(
            kept.finish_reason,
            FinishReason::Stop | FinishReason::ToolCalls
        ) {
            let ttl = call.settings().cache_ttl();
            let expires = self.now().plus(ttl);
            self.cache.put(&lead.key, &kept, expires).await;
        }
        lead.land(kept);
    }

    fn now(&self) -> Timestamp {
        let (time, instant) = self.opened;
        time.plus(instant.elapsed())
    }

    fn join(&self, key: CacheKey, company: &Company) -> Result<Lead, watch::Receiver<Flight>> {
        let mut flights = self.flights.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(flight) = flights.get(&key) {
            return Err(flight.subscribe());
        }
        let (flight, _) = watch::channel(Flight::UnderWay);
        // A call leads at most once.
        let _ = company.0.set(flight.clone());
        flights.insert(key, flight);
        Ok(Lead {
            key,
            flights: self.flights.clone(),
            has_told: false,
        })
    }
}

impl Lead {
    /// Tells those who wait that the answer has failed for a reason that is theirs as well.
    pub(super) fn fail(mut self, error: &Error, span: SpanId) {
        self.tell(Flight::Failed(error.clone(), span));
    }

    fn land(mut self, kept: Kept) {
        self.tell(Flight::Landed(kept));
    }

    fn tell(&mut self, outcome: Flight) {
        if std::mem::replace(&mut self.has_told, true) {
            return;
        }
        let mut flights = self.flights.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(flight) = flights.remove(&self.key) {
            flight.send_replace(outcome);
        }
    }
}

impl Drop for Lead {
    fn drop(&mut self) {
        self.tell(Flight::GivenUp);
    }
}

/// The key of a call: everything that its answer depends on (`interface.md` 15.5).
pub(super) fn key(call: &Call, route: &[Stop], examples: &[Example]) -> CacheKey {
    let mut digest = Digest(Context::new(&SHA256));
    match &call.task {
        Task::Function(task) => {
            digest.text(&task.function.id.to_string());
            digest.text(&task.callee.revision.id.to_string());
        }
        Task::Chat(_) => digest.text("chat"),
    }
    for stop in route {
        digest.text(stop.name.as_str());
        match &stop.leads_to {
            Ok(reachable) => digest.reachable(reachable),
            Err(_) => digest.text(""),
        }
    }
    digest.value(call.input().as_ref());
    match &call.task {
        Task::Function(task) => {
            for example in examples.iter().chain(&task.examples) {
                digest.value(Some(&example.input));
                digest.value(Some(&example.output));
                digest.text(if example.comment.is_some() { "+" } else { "-" });
                digest.text(example.comment.as_deref().unwrap_or_default());
            }
        }
        Task::Chat(task) => digest.asked(&task.request),
    }
    digest.key(call)
}

/// Texts, each with its length before it, so that no two lists of them digest alike.
struct Digest(Context);

impl Digest {
    fn text(&mut self, text: &str) {
        self.0.update(&(text.len() as u64).to_be_bytes());
        self.0.update(text.as_bytes());
    }

    /// However it is spelled, a value is the same.
    fn value(&mut self, value: Option<&Json>) {
        let spelled = value.map(Json::spelled_out);
        self.text(spelled.as_deref().unwrap_or_default());
    }

    fn members(&mut self, members: &JsonObject) {
        self.text(&members.len().to_string());
        for (name, value) in members {
            self.text(name);
            self.text(value.text());
        }
    }

    /// What is asked of a conversation's answer.
    fn asked(&mut self, request: &ChatRequest) {
        let demand = request.demand.as_ref();
        self.value(demand.map(|demand| &demand.schema));
        self.value(demand.and_then(|demand| demand.as_given.as_ref()));
        self.text(&request.tools.len().to_string());
        for tool in &request.tools {
            self.value(Some(&tool.as_given));
        }
        let choice = request.tool_choice.as_ref();
        self.value(choice.map(|choice| &choice.as_given));
    }

    fn reachable(&mut self, reachable: &Reachable) {
        let target = &reachable.target;
        self.text(&target.provider);
        self.text(&target.model);
        self.text(target.api_base.as_deref().unwrap_or_default());
        self.members(&target.options);
        for (name, value) in target.extra_headers.iter() {
            self.text(name);
            self.text(value);
        }
        for (name, value) in &target.settings {
            self.text(name);
            self.text(value);
        }
    }

    fn key(self, call: &Call) -> CacheKey {
        let digest = self.0.finish();
        let digest: [u8; 32] = digest.as_ref().try_into().expect("SHA-256 has 32 bytes");
        CacheKey::new(call.scope, digest)
    }
}
