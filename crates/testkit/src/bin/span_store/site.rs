//! The data directory, and the server that runs on it.

use std::{
    fs::{self, File},
    net::{SocketAddr, TcpListener},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use serde_json::json;
use testkit::{client::Connection, recorded};
use tokio::time::{Instant, sleep};

use super::Failure;

const PROJECT: &str = "spans";
const TOKEN: &str = "span-store-token-0123456789abcdef";
const PATIENCE: Duration = Duration::from_mins(5);
const FORGOTTEN: &str = "gatewright_spans_forgotten_total";

/// Where it all happens.
pub(super) struct Site {
    server: PathBuf,
    fill: PathBuf,
    folder: PathBuf,
    address: SocketAddr,
    bytes: usize,
    gib: f64,
}

/// A running server. It is killed when it is dropped.
pub(super) struct Server(Child);

/// What there is after a filling.
pub(super) struct Filled {
    pub(super) spans: u64,
    pub(super) bytes: u64,
}

impl Site {
    pub(super) fn new(
        [server, fill]: [PathBuf; 2],
        folder: &Path,
        bytes: usize,
        gib: f64,
    ) -> Result<Self, Failure> {
        Ok(Self {
            server,
            fill,
            folder: folder.to_owned(),
            address: TcpListener::bind(("127.0.0.1", 0))?.local_addr()?,
            bytes,
            gib,
        })
    }

    fn data_dir(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// Fills up to so many spans; its bar is on standard error.
    pub(super) fn fill(&self, from: u64, until: u64) -> Result<Filled, Failure> {
        let filled = Command::new(&self.fill)
            .arg("--data-dir")
            .arg(self.data_dir())
            .args(["--project", PROJECT])
            .args(["--from", &from.to_string()])
            .args(["--spans", &until.to_string()])
            .args(["--bytes", &self.bytes.to_string()])
            .args(["--gib", &self.gib.to_string()])
            .stderr(Stdio::inherit())
            .output()?;
        let told = String::from_utf8(filled.stdout)?;
        let number = |name: &str| {
            let word = told
                .split_whitespace()
                .find_map(|word| word.strip_prefix(name));
            word.and_then(|number| number.parse().ok())
        };
        match (number("spans="), number("bytes=")) {
            (Some(spans), Some(bytes)) if filled.status.success() => Ok(Filled { spans, bytes }),
            _ => Err(format!("the store was not filled: {told}").into()),
        }
    }

    /// Starts the server, and says how long it took until it answered its first request for a span.
    pub(super) async fn start(
        &self,
        environment: &[(&str, &str)],
    ) -> Result<(Server, Duration), Failure> {
        let log = File::create(self.folder.join("server.log"))?;
        let begun = Instant::now();
        let child = Command::new(&self.server)
            .args(["serve", "--listen", &self.address.to_string()])
            .arg("--data-dir")
            .arg(self.data_dir())
            .env("GATEWRIGHT_BOOTSTRAP_TOKENS", format!("{PROJECT}:{TOKEN}"))
            .envs(environment.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()?;
        let mut server = Server(child);
        let path = format!("/v2/spans/{}", recorded::id(0));
        loop {
            if let Ok(mut connection) = self.connect().await
                && let Ok(reply) = connection.get(&path).await
                && (reply.status == 200 || reply.status == 404)
            {
                return Ok((server, begun.elapsed()));
            }
            if server.0.try_wait()?.is_some() || begun.elapsed() > PATIENCE {
                let said = fs::read_to_string(self.folder.join("server.log"))?;
                return Err(format!("the server answers nothing:\n{said}").into());
            }
            sleep(Duration::from_millis(2)).await;
        }
    }

    pub(super) async fn connect(&self) -> Result<Connection, Failure> {
        Ok(Connection::open(self.address, TOKEN).await?)
    }

    /// The path of a call of a function that answers by itself.
    pub(super) async fn function(&self) -> Result<String, Failure> {
        let body = json!({"name": "echo", "instructions": "Repeat.", "model": "offline/echo"});
        let made = self.connect().await?.post("/v2/functions", &body).await?;
        let made = made.json();
        let id = made["id"].as_str().ok_or("no function was made")?;
        Ok(format!("/v2/functions/{id}/call"))
    }

    /// How many spans the running server has forgotten.
    pub(super) async fn forgotten(&self) -> Result<u64, Failure> {
        let reply = self.connect().await?.get("/metrics").await?;
        let text = String::from_utf8(reply.body.to_vec())?;
        let line = text.lines().find_map(|line| line.strip_prefix(FORGOTTEN));
        Ok(line
            .and_then(|count| count.trim().parse().ok())
            .unwrap_or_default())
    }

    /// How long the database is.
    pub(super) fn gib(&self) -> Result<f64, Failure> {
        let bytes = fs::metadata(self.data_dir().join("gatewright.db"))?.len();
        #[expect(clippy::cast_precision_loss, reason = "shown with two digits")]
        Ok(bytes as f64 / 1_073_741_824.0)
    }
}

impl Server {
    /// Asks it to end, and waits until it has.
    pub(super) async fn stop(mut self) -> Result<(), Failure> {
        let id = self.0.id().to_string();
        Command::new("kill").args(["-TERM", &id]).status()?;
        let begun = Instant::now();
        while self.0.try_wait()?.is_none() {
            if begun.elapsed() > PATIENCE {
                return Err("the server does not stop".into());
            }
            sleep(Duration::from_millis(5)).await;
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // SIGKILL, on purpose. It fails only for a process that has ended already.
        let _killed = self.0.kill();
        let _reaped = self.0.wait();
    }
}
