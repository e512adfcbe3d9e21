//! A server that is started, killed and stopped again and again on the same data.

use std::{
    fs::{self, File},
    io,
    net::{SocketAddr, TcpListener},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::Failure;
use crate::client::Connection;

/// The token of every campaign's callers.
pub const TOKEN: &str = "campaign-token-0123456789abcdef0";
/// For a start, and for a stop.
const PATIENCE: Duration = Duration::from_mins(1);

/// How the server is started.
#[derive(Debug)]
pub struct Launch {
    server: PathBuf,
    folder: PathBuf,
    /// Where it listens, at each start.
    pub address: SocketAddr,
    environment: Vec<(String, String)>,
    starts: u32,
}

/// A running server. It is killed when it is dropped.
#[derive(Debug)]
pub struct Server {
    child: Child,
    log: PathBuf,
}

impl Launch {
    /// Of a server whose data directory and logs stand in `folder`.
    pub fn new(server: &str, folder: &Path) -> Result<Self, Failure> {
        let free = TcpListener::bind(("127.0.0.1", 0))?;
        Ok(Self {
            server: server.into(),
            folder: folder.into(),
            address: free.local_addr()?,
            environment: vec![(
                "GATEWRIGHT_BOOTSTRAP_TOKENS".into(),
                format!("campaign:{TOKEN}"),
            )],
            starts: 0,
        })
    }

    /// With an environment variable more, from the next start on.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.set(name, value);
        self
    }

    /// Sets an environment variable, from the next start on.
    pub fn set(&mut self, name: &str, value: impl Into<String>) {
        self.unset(name);
        self.environment.push((name.into(), value.into()));
    }

    /// Takes an environment variable away, from the next start on.
    pub fn unset(&mut self, name: &str) {
        self.environment.retain(|(known, _)| known != name);
    }

    /// The data directory.
    pub fn data_dir(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// Starts the process and waits for nothing.
    pub fn spawn(&mut self) -> Result<Server, Failure> {
        self.starts += 1;
        let log = self.folder.join(format!("server-{}.log", self.starts));
        let output = File::create(&log)?;
        let child = Command::new(&self.server)
            .args(["serve", "--listen", &self.address.to_string()])
            .arg("--data-dir")
            .arg(self.data_dir())
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()?;
        Ok(Server { child, log })
    }

    /// Starts the server and waits until it is ready; says how long that took.
    pub async fn start(&mut self) -> Result<(Server, Duration), Failure> {
        let begun = Instant::now();
        let mut server = self.spawn()?;
        if self.ready(&mut server).await? {
            return Ok((server, begun.elapsed()));
        }
        Err(format!("the server ended at its start:\n{}", server.said()).into())
    }

    /// Waits until the server is ready, or has ended: `false`.
    pub async fn ready(&self, server: &mut Server) -> Result<bool, Failure> {
        let begun = Instant::now();
        while !self.is_ready().await {
            if server.child.try_wait()?.is_some() {
                return Ok(false);
            }
            if begun.elapsed() > PATIENCE {
                return Err(format!("the server was not ready in time:\n{}", server.said()).into());
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok(true)
    }

    /// Asks `/readyz` once.
    pub async fn is_ready(&self) -> bool {
        let Ok(mut connection) = Connection::open(self.address, TOKEN).await else {
            return false;
        };
        let asked = tokio::time::timeout(Duration::from_secs(5), connection.get("/readyz")).await;
        asked.is_ok_and(|reply| reply.is_ok_and(|reply| reply.status == 200))
    }

    /// Stores a function, and returns its id.
    pub async fn function(&self, name: &str, model: &str) -> Result<String, Failure> {
        let mut connection = Connection::open(self.address, TOKEN).await?;
        let function = json!({"name": name, "instructions": "Repeat the input.", "model": model});
        let reply = connection.post("/v2/functions", &function).await?;
        let stored = reply.json();
        let id = stored["id"].as_str().filter(|_| reply.status == 201);
        let id = id.ok_or_else(|| format!("no function was stored: {} {stored}", reply.status))?;
        Ok(id.to_owned())
    }
}

impl Server {
    /// What the server has logged.
    pub fn said(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// The id of its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Says whether it has not ended by itself.
    pub fn is_alive(&mut self) -> io::Result<bool> {
        Ok(self.child.try_wait()?.is_none())
    }

    /// Kills it at once, and waits until it is gone.
    pub fn kill(mut self) {
        self.end();
    }

    /// Asks it to stop.
    pub fn terminate(&self) -> Result<(), Failure> {
        let id = i32::try_from(self.child.id())?;
        let id = Pid::from_raw(id).ok_or("a process has an id")?;
        Ok(kill_process(id, Signal::TERM)?)
    }

    /// Waits until it has ended by itself.
    pub async fn ended(&mut self) -> Result<ExitStatus, Failure> {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            if begun.elapsed() > PATIENCE {
                return Err(format!("the server did not end:\n{}", self.said()).into());
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Asks it to stop and waits until it has.
    pub async fn stop(mut self) -> Result<ExitStatus, Failure> {
        self.terminate()?;
        self.ended().await
    }

    fn end(&mut self) {
        // SIGKILL, on purpose. It fails only for a process that has ended already.
        let _killed = self.child.kill();
        let _reaped = self.child.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}
