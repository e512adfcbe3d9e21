//! A server of a campaign's own: started on a free port, weighed, and ended together with its data.

use std::{
    fs::{self, File},
    io,
    net::{SocketAddr, TcpListener},
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use tempfile::TempDir;

use crate::client::Connection;

const READY_WITHIN: Duration = Duration::from_secs(30);

/// A running server. It is killed when it is dropped, and its data are removed.
#[derive(Debug)]
pub struct Launched {
    address: SocketAddr,
    child: Child,
    folder: TempDir,
}

/// What a process takes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Weight {
    /// Memory that is resident, in KiB.
    pub resident_kib: u64,
    /// Open files and sockets.
    pub descriptors: u64,
    /// Its threads.
    pub threads: u64,
    /// The database's write-ahead log.
    pub log_bytes: u64,
}

impl Launched {
    /// The token of whoever makes trouble.
    pub const TOKEN: &str = "campaign-token-0123456789-abcdef";
    /// The token of another project, which wants to be served meanwhile.
    pub const NEIGHBOUR: &str = "neighbour-token-0123456789-abcde";

    /// Starts the server with these environment variables, and waits until it is ready.
    pub async fn start(server: &str, environment: &[(String, String)]) -> io::Result<Self> {
        let folder = tempfile::tempdir()?;
        let address = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?;
        let log = File::create(folder.path().join("log"))?;
        let child = Command::new(server)
            .args(["serve", "--listen", &address.to_string(), "--data-dir"])
            .arg(folder.path().join("data"))
            .env(
                "GATEWRIGHT_BOOTSTRAP_TOKENS",
                format!("campaign:{},neighbour:{}", Self::TOKEN, Self::NEIGHBOUR),
            )
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()?;
        let mut launched = Self {
            address,
            child,
            folder,
        };
        let began = Instant::now();
        while !launched.is_ready().await {
            if launched.child.try_wait()?.is_some() || began.elapsed() > READY_WITHIN {
                let log = launched.log()?;
                return Err(io::Error::other(format!(
                    "the server did not become ready:\n{log}"
                )));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(launched)
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// A connection with the token.
    pub async fn connect(&self) -> io::Result<Connection> {
        Connection::open(self.address, Self::TOKEN).await
    }

    /// What it said so far.
    pub fn log(&self) -> io::Result<String> {
        fs::read_to_string(self.folder.path().join("log"))
    }

    /// Says whether it has not ended by itself.
    pub fn is_alive(&mut self) -> io::Result<bool> {
        Ok(self.child.try_wait()?.is_none())
    }

    /// What it takes now.
    pub fn weight(&self) -> io::Result<Weight> {
        let process = PathBuf::from(format!("/proc/{}", self.child.id()));
        let status = fs::read_to_string(process.join("status"))?;
        let number = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse().ok()
        };
        let log = self.folder.path().join("data/gatewright.db-wal");
        Ok(Weight {
            resident_kib: number("VmRSS:").unwrap_or(0),
            descriptors: fs::read_dir(process.join("fd"))?.count() as u64,
            threads: number("Threads:").unwrap_or(0),
            log_bytes: fs::metadata(log).map_or(0, |log| log.len()),
        })
    }

    async fn is_ready(&self) -> bool {
        let Ok(mut connection) = self.connect().await else {
            return false;
        };
        let reply = connection.get("/readyz").await;
        reply.is_ok_and(|reply| reply.status == 200)
    }
}

impl Drop for Launched {
    fn drop(&mut self) {
        // Both fail only for a process that has ended already.
        let _killed = self.child.kill();
        let _reaped = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_program_that_is_no_server_is_told_with_what_it_said() {
        let error = Launched::start("/bin/echo", &[])
            .await
            .unwrap_err()
            .to_string();

        assert!(error.contains("serve --listen 127.0.0.1:"), "{error}");
    }
}
