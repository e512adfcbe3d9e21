//! Who calls, what for, and what the models do with it.

use std::{
    io,
    net::SocketAddr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use http::Method;
use serde_json::{Value, json};
use testkit::{Answer, Chance, Launched, Received, Script, client::Connection};

/// The models: most answer. A part of the name says what they do.
const MODELS: [&str; 8] = [
    "house/well",
    "house/well",
    "house/well",
    "house/slow",
    "house/fails",
    "house/breaks",
    "house/garbage",
    "house/silent",
];
const PAUSE: Duration = Duration::from_millis(40);
/// Within this a caller hangs up, if it does.
const HANGS_UP_WITHIN: Duration = Duration::from_millis(400);
/// So many answers that make no sense are kept.
const KEPT: usize = 20;

/// What came of all requests.
#[derive(Clone, Default)]
pub(crate) struct Count {
    all: Arc<AtomicU64>,
    answered: Arc<AtomicU64>,
    strange: Arc<Mutex<Vec<String>>>,
}

/// Somebody who does one thing after the other.
pub(crate) struct Caller {
    address: SocketAddr,
    chance: Chance,
    number: u64,
    count: Count,
    made: u64,
}

/// What the models do.
pub(crate) fn script() -> Script {
    Script::by(play)
}

fn play(request: &Received) -> Answer {
    match request.json()["model"].as_str() {
        Some("slow") => Answer::text(&"word ".repeat(40)).pause(Duration::from_millis(20)),
        Some("fails") => Answer::error(503, "not now"),
        Some("breaks") => Answer::text(&"word ".repeat(40)).cut_after_pieces(5),
        Some("garbage") => Answer::garbage(),
        Some("silent") => Answer::text("late").after(Duration::from_mins(1)),
        _ => Answer::text("hello, world"),
    }
}

impl Count {
    pub(crate) fn all(&self) -> u64 {
        self.all.load(Ordering::Relaxed)
    }

    /// Those that were answered with success.
    pub(crate) fn answered(&self) -> u64 {
        self.answered.load(Ordering::Relaxed)
    }

    pub(crate) fn strange(&self) -> Vec<String> {
        let strange = self.strange.lock().unwrap_or_else(PoisonError::into_inner);
        strange.clone()
    }

    /// Counts an answer; its request may have these statuses.
    fn note(&self, what: &str, status: u16, may: &[u16]) {
        self.all.fetch_add(1, Ordering::Relaxed);
        if status < 300 {
            self.answered.fetch_add(1, Ordering::Relaxed);
        }
        if !may.contains(&status) {
            let mut strange = self.strange.lock().unwrap_or_else(PoisonError::into_inner);
            if strange.len() < KEPT {
                strange.push(format!("{what} was answered with {status}"));
            }
        }
    }
}

impl Caller {
    pub(crate) fn new(address: SocketAddr, chance: Chance, number: u64, count: Count) -> Self {
        Self {
            address,
            chance,
            number,
            count,
            made: 0,
        }
    }

    /// Goes on until it is dropped.
    pub(crate) async fn run(mut self) {
        loop {
            if let Err(error) = self.once().await {
                // A server that cannot be reached is told by the status of nothing.
                self.count.note(&error.to_string(), 0, &[]);
            }
            tokio::time::sleep(self.chance.below(PAUSE)).await;
        }
    }

    async fn once(&mut self) -> io::Result<()> {
        let mut connection = Connection::open(self.address, Launched::TOKEN).await?;
        let call = self.call();
        match self.chance.number() % 10 {
            0..=2 => self.plain(&mut connection, &call).await,
            3..=4 => self.streamed(&mut connection, &call).await,
            5 => {
                let moment = self.chance.below(HANGS_UP_WITHIN);
                let left = tokio::time::timeout(moment, self.streamed(&mut connection, &call));
                let _left = left.await;
                connection.hang_up().await;
                Ok(())
            }
            6 => {
                let moment = self.chance.below(HANGS_UP_WITHIN);
                let left = tokio::time::timeout(moment, self.plain(&mut connection, &call));
                let _left = left.await;
                connection.hang_up().await;
                Ok(())
            }
            7 => self.nonsense(&mut connection).await,
            8 => self.keeps_house(&mut connection).await,
            _ => self.looks_around(&mut connection).await,
        }
    }

    fn call(&mut self) -> Value {
        let number = usize::try_from(self.chance.number() % 8).unwrap_or(0);
        let model = MODELS[number];
        let name = model.replace('/', "-");
        json!({"name": name, "instructions": "Say something.", "model": model, "input": self.chance.number()})
    }

    async fn plain(&self, connection: &mut Connection, call: &Value) -> io::Result<()> {
        let reply = connection.post("/v2/call", call).await?;
        let status = reply.status.as_u16();
        self.count.note("a call", status, &[200, 502, 503, 504]);
        Ok(())
    }

    async fn streamed(&self, connection: &mut Connection, call: &Value) -> io::Result<()> {
        let mut stream = connection.open_stream("/v2/call/stream", call).await?;
        let status = stream.status.as_u16();
        self.count.note("a stream", status, &[200, 502, 503, 504]);
        stream.rest().await;
        Ok(())
    }

    async fn nonsense(&mut self, connection: &mut Connection) -> io::Result<()> {
        let reply = connection
            .send(Method::POST, "/v2/call", "{\"name\": [".into())
            .await?;
        self.count.note("nonsense", reply.status.as_u16(), &[422]);
        let id = uuid_of(self.chance.number());
        let reply = connection.get(&format!("/v2/spans/{id}")).await?;
        self.count
            .note("a span that is not there", reply.status.as_u16(), &[404]);
        let mut stranger =
            Connection::open(self.address, "no-token-of-this-server-0123456789").await?;
        let reply = stranger.get("/v2/functions").await?;
        self.count
            .note("a wrong token", reply.status.as_u16(), &[401]);
        Ok(())
    }

    async fn keeps_house(&mut self, connection: &mut Connection) -> io::Result<()> {
        self.made += 1;
        let name = format!("soak/{}-{}", self.number, self.made);
        let function = json!({"name": name, "instructions": "x", "model": "house/well"});
        let reply = connection.post("/v2/functions", &function).await?;
        self.count.note("a creation", reply.status.as_u16(), &[201]);
        let stored = reply.json();
        let path = format!(
            "/v2/functions/{}",
            stored["id"].as_str().unwrap_or_default()
        );
        let reply = connection.send(Method::DELETE, &path, "".into()).await?;
        self.count
            .note("a deletion", reply.status.as_u16(), &[200, 204]);
        Ok(())
    }

    async fn looks_around(&self, connection: &mut Connection) -> io::Result<()> {
        for path in ["/v2/functions", "/v2/models/custom", "/healthz", "/metrics"] {
            let reply = connection.get(path).await?;
            self.count.note(path, reply.status.as_u16(), &[200]);
        }
        Ok(())
    }
}

/// An id that nobody has.
fn uuid_of(number: u64) -> String {
    let text = format!("{number:016x}");
    format!("00000000-0000-4000-8000-{}", &text[4..])
}
