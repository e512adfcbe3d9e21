//! A server of a campaign's own: started on a free port, weighed, and ended together with its data.

use std::{fs, io, net::SocketAddr, path::PathBuf};

use tempfile::TempDir;

use crate::{
    campaign::{self, Failure, Launch, Server},
    client::Connection,
};

/// A running server. It is killed when it is dropped, and its data are removed.
#[derive(Debug)]
pub struct Launched {
    launch: Launch,
    server: Server,
    _folder: TempDir,
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
    pub const TOKEN: &str = campaign::TOKEN;
    /// The token of another project, which wants to be served meanwhile.
    pub const NEIGHBOUR: &str = "neighbour-token-0123456789-abcde";

    /// Starts the server with these environment variables, and waits until it is ready.
    pub async fn start(server: &str, environment: &[(String, String)]) -> Result<Self, Failure> {
        let folder = tempfile::tempdir()?;
        let tokens = format!("campaign:{},neighbour:{}", Self::TOKEN, Self::NEIGHBOUR);
        let launch = Launch::new(server, folder.path())?;
        let mut launch = launch.with("GATEWRIGHT_BOOTSTRAP_TOKENS", tokens);
        for (name, value) in environment {
            launch.set(name, value);
        }
        let (server, _) = launch.start().await?;
        Ok(Self {
            launch,
            server,
            _folder: folder,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.launch.address
    }

    /// A connection with the token.
    pub async fn connect(&self) -> io::Result<Connection> {
        Connection::open(self.address(), Self::TOKEN).await
    }

    /// Says whether it has not ended by itself.
    pub fn is_alive(&mut self) -> io::Result<bool> {
        self.server.is_alive()
    }

    /// What it takes now.
    pub fn weight(&self) -> io::Result<Weight> {
        let process = PathBuf::from(format!("/proc/{}", self.server.id()));
        let status = fs::read_to_string(process.join("status"))?;
        let number = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse().ok()
        };
        let log = self.launch.data_dir().join("gatewright.db-wal");
        Ok(Weight {
            resident_kib: number("VmRSS:").unwrap_or(0),
            descriptors: fs::read_dir(process.join("fd"))?.count() as u64,
            threads: number("Threads:").unwrap_or(0),
            log_bytes: fs::metadata(log).map_or(0, |log| log.len()),
        })
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
