//! A well-behaved caller beside whatever else a server has to bear: one call after the other, each wants its answer.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::Value;
use tokio::{task::JoinHandle, time::timeout};

use crate::client::Connection;

/// Between two calls.
const PAUSE: Duration = Duration::from_millis(5);
/// An answer that takes longer is none.
const PATIENCE: Duration = Duration::from_secs(10);

/// Somebody who calls until told to stop.
#[derive(Debug)]
pub struct Neighbour {
    stop: Arc<AtomicBool>,
    calling: JoinHandle<Served>,
}

/// How a neighbour was served.
#[derive(Debug, Default)]
pub struct Served {
    /// How long each answer took, the shortest first.
    pub sorted: Vec<Duration>,
    /// Calls that were not answered with 200, and why.
    pub failures: Vec<String>,
}

impl Neighbour {
    /// Starts calling: posts `body` to `path`.
    pub fn start(address: SocketAddr, token: &str, path: &str, body: Value) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (token, path) = (token.to_owned(), path.to_owned());
        let stopped = Arc::clone(&stop);
        let calling = tokio::spawn(async move {
            let mut served = Served::default();
            let mut connection = None;
            while !stopped.load(Ordering::Relaxed) {
                let began = Instant::now();
                let asked = timeout(
                    PATIENCE,
                    ask(&mut connection, (address, &token), &path, &body),
                );
                match asked.await {
                    Ok(Ok(())) => served.sorted.push(began.elapsed()),
                    Ok(Err(failure)) => served.failures.push(failure),
                    Err(_) => served.failures.push("no answer in 10 s".to_owned()),
                }
                tokio::time::sleep(PAUSE).await;
            }
            served.sorted.sort_unstable();
            served
        });
        Self { stop, calling }
    }

    /// Lets the last call be answered.
    ///
    /// # Panics
    /// When the caller itself did.
    pub async fn stop(self) -> Served {
        self.stop.store(true, Ordering::Relaxed);
        self.calling.await.expect("the caller does not panic")
    }
}

async fn ask(
    kept: &mut Option<Connection>,
    (address, token): (SocketAddr, &str),
    path: &str,
    body: &Value,
) -> Result<(), String> {
    let told = |error: std::io::Error| error.to_string();
    let mut connection = match kept.take() {
        Some(connection) => connection,
        None => Connection::open(address, token).await.map_err(told)?,
    };
    let reply = connection.post(path, body).await.map_err(told)?;
    if reply.status != 200 {
        return Err(format!("{}: {}", reply.status, reply.json()));
    }
    *kept = Some(connection);
    Ok(())
}

impl Served {
    /// Returns the smallest time that `percent` of all are not above, in milliseconds.
    pub fn percentile(&self, percent: usize) -> f64 {
        let rank = (self.sorted.len() * percent).div_ceil(100);
        let time = self.sorted.get(rank.saturating_sub(1));
        time.map_or(0.0, |time| time.as_secs_f64() * 1000.0)
    }

    /// Returns it in a few words.
    pub fn told(&self) -> String {
        format!(
            "{} calls answered, {} not; p50 {:.1} ms, p99 {:.1} ms, longest {:.1} ms",
            self.sorted.len(),
            self.failures.len(),
            self.percentile(50),
            self.percentile(99),
            self.percentile(100),
        )
    }

    /// Returns what is wrong: calls that failed, or no call at all.
    pub fn faults(&self) -> Vec<String> {
        if self.sorted.is_empty() && self.failures.is_empty() {
            return vec!["nobody called".to_owned()];
        }
        self.failures.clone()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{Answer, Upstream};

    #[tokio::test]
    async fn every_answer_and_every_failure_counts() {
        let answers = [
            Answer::text("a"),
            Answer::error(503, "no"),
            Answer::text("b"),
        ];
        let upstream = Upstream::start(answers.to_vec()).await;
        let address = upstream.authority().parse().unwrap();

        let neighbour = Neighbour::start(address, "none", "/v1/chat/completions", json!({}));
        assert!(upstream.wait_for_requests(4, PATIENCE).await);
        let served = neighbour.stop().await;

        assert_eq!(served.sorted.len(), 2);
        assert!(served.faults()[0].starts_with("503"), "{served:?}");
        assert!(served.percentile(50) <= served.percentile(99));
    }
}
