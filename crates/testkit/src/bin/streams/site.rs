//! The places that a campaign speaks to: an address, a token, and what can be asked of them.

use std::{fs, net::SocketAddr};

use http::StatusCode;
use serde_json::Value;
use testkit::client::{Connection, Reply};

use crate::Failure;

/// An HTTP server of this machine.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    address: SocketAddr,
    token: String,
}

impl Site {
    /// Reads `http://<address>:<port>`, with or without the scheme and a slash at the end.
    pub(crate) fn parse(url: &str, token: &str) -> Result<Self, Failure> {
        let address = url.strip_prefix("http://").unwrap_or(url);
        let address = address.trim_end_matches('/').parse();
        Ok(Self {
            address: address
                .map_err(|error| format!("`{url}` is no `http://<ip>:<port>`: {error}"))?,
            token: token.to_owned(),
        })
    }

    pub(crate) async fn connect(&self) -> Result<Connection, Failure> {
        let connection = Connection::open(self.address, &self.token).await;
        connection.map_err(|error| format!("`{}` cannot be reached: {error}", self.address).into())
    }

    /// Posts and returns a member of the answer, which must be a success.
    pub(crate) async fn make(
        &self,
        path: &str,
        body: &Value,
        member: &str,
    ) -> Result<String, Failure> {
        let reply = self.connect().await?.post(path, body).await?;
        let made = expect_success(&reply, path)?;
        let value = made[member].as_str();
        Ok(value
            .ok_or_else(|| format!("no `{member}` in the answer of `{path}`"))?
            .to_owned())
    }

    /// Returns the sum of all series of the gauges of work under way, none if the server has no such gauge.
    pub(crate) async fn under_way(&self) -> Result<Option<f64>, Failure> {
        let reply = self.connect().await?.get("/metrics").await?;
        if reply.status != StatusCode::OK {
            return Ok(None);
        }
        Ok(sum_under_way(&String::from_utf8_lossy(&reply.body)))
    }
}

fn sum_under_way(metrics: &str) -> Option<f64> {
    let series = metrics.lines().filter(|line| !line.starts_with('#'));
    let values = series.filter_map(|line| {
        let (name, value) = line.rsplit_once(' ')?;
        let name = name.split('{').next()?;
        name.ends_with("_under_way").then(|| value.parse().ok())?
    });
    values.reduce(|sum: f64, value| sum + value)
}

fn expect_success(reply: &Reply, path: &str) -> Result<Value, Failure> {
    let body = reply.json();
    if !reply.status.is_success() {
        return Err(format!("`{path}` was answered with {}: {body}", reply.status).into());
    }
    Ok(body)
}

/// Returns the resident memory of a process in KiB.
pub(crate) fn resident_kib(pid: u32) -> Result<u64, Failure> {
    let path = format!("/proc/{pid}/status");
    let status = fs::read_to_string(&path).map_err(|error| format!("`{path}`: {error}"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB"));
    Ok(kib
        .ok_or_else(|| format!("no `VmRSS` in `{path}`"))?
        .parse()?)
}

/// Reads `--pid`, which may be left out.
pub(crate) fn parse_pid(text: &str) -> Result<Option<u32>, Failure> {
    if text.is_empty() {
        return Ok(None);
    }
    let pid = text.parse();
    Ok(Some(
        pid.map_err(|error| format!("`--pid {text}`: {error}"))?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gauges_of_work_under_way_are_summed_over_their_series() {
        let metrics = "# TYPE a_calls_under_way gauge\na_calls_under_way{kind=\"a b\"} 2\na_calls_under_way 1\nb_total 9\n";

        assert_eq!(sum_under_way(metrics), Some(3.0));
        assert_eq!(sum_under_way("b_total 9\n"), None);
    }

    #[test]
    fn an_address_is_read_with_and_without_a_scheme() {
        let read = |url| Site::parse(url, "").map(|site| site.address.to_string());

        assert_eq!(read("http://127.0.0.1:8080/").unwrap(), "127.0.0.1:8080");
        assert_eq!(read("127.0.0.1:8080").unwrap(), "127.0.0.1:8080");
        assert!(read("https://example.test").is_err());
    }

    #[test]
    fn this_process_has_memory() {
        assert!(resident_kib(std::process::id()).unwrap() > 100);
    }
}
