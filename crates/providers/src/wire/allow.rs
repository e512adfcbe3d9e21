//! The operator's list of private addresses that may be dialled for tenants.

use std::net::IpAddr;

use ipnet::IpNet;
use url::Host;

use super::address;

/// A list such as `egress.allow`, read.
#[derive(Debug, Clone, Default)]
pub(super) struct AllowList {
    names: Vec<(String, u16)>,
    ranges: Vec<(IpNet, u16)>,
}

impl AllowList {
    /// Reads `host:port` and `cidr:port` entries; the error is the first entry that is neither.
    pub(super) fn parse(entries: &[String]) -> Result<Self, &str> {
        let mut list = Self::default();
        for entry in entries {
            list.add(entry).ok_or(entry.as_str())?;
        }
        Ok(list)
    }

    fn add(&mut self, entry: &str) -> Option<()> {
        let (host, port) = entry.rsplit_once(':')?;
        let port: u16 = port.parse().ok().filter(|port| *port != 0)?;
        let bare = host.strip_prefix('[').and_then(|h| h.strip_suffix(']'));
        let range = bare.unwrap_or(host).parse::<IpNet>().ok();
        if let Some(range) = range {
            self.ranges.push((range.trunc(), port));
            return Some(());
        }
        match Host::parse(host).ok()? {
            Host::Ipv4(ip) => self.ranges.push((IpNet::from(IpAddr::V4(ip)), port)),
            Host::Ipv6(ip) => {
                let ip = address::canonical(IpAddr::V6(ip));
                self.ranges.push((IpNet::from(ip), port));
            }
            Host::Domain(name) => {
                let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
                if name.is_empty() || !name.bytes().all(is_plain) {
                    return None;
                }
                self.names.push((name, port));
            }
        }
        Some(())
    }

    /// Whether this very name and port are on the list.
    pub(super) fn names(&self, name: &str, port: u16) -> bool {
        self.names
            .iter()
            .any(|(listed, at)| listed == name && *at == port)
    }

    /// The ranges that are listed for a port.
    pub(super) fn ranges(&self, port: u16) -> Vec<IpNet> {
        let on_port = self.ranges.iter().filter(|(_, at)| *at == port);
        on_port.map(|(range, _)| *range).collect()
    }

    /// The ports that have ranges.
    pub(super) fn range_ports(&self) -> Vec<u16> {
        let mut ports: Vec<u16> = self.ranges.iter().map(|(_, port)| *port).collect();
        ports.sort_unstable();
        ports.dedup();
        ports
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(entries: &[&str]) -> Result<AllowList, String> {
        let entries: Vec<String> = entries.iter().map(|&entry| entry.to_owned()).collect();
        AllowList::parse(&entries).map_err(str::to_owned)
    }

    #[test]
    fn names_addresses_and_ranges_are_read() {
        let list = list(&[
            "vLLM.internal:8000",
            "10.1.2.3/8:8000",
            "127.0.0.1:9",
            "[::1]:9",
            "fd00::/8:7",
            "[fd00::/8]:6",
        ])
        .unwrap();

        assert!(list.names("vllm.internal", 8000));
        assert!(!list.names("vllm.internal", 8001));
        let ranges = |port| format!("{:?}", list.ranges(port));
        assert_eq!(ranges(8000), "[10.0.0.0/8]");
        assert_eq!(ranges(9), "[127.0.0.1/32, ::1/128]");
        assert_eq!(ranges(7), "[fd00::/8]");
        assert_eq!(ranges(6), "[fd00::/8]");
        assert_eq!(list.range_ports(), [6, 7, 9, 8000]);
    }

    #[test]
    fn the_first_bad_entry_is_named() {
        for bad in [
            "",
            "host",
            "host:",
            ":80",
            "host:0",
            "host:65536",
            "host:http",
            "*:80",
            "*.example.com:80",
            "10.0.0.0/33:80",
            "https://host:80",
            "user@host:80",
            "::1:x",
        ] {
            assert_eq!(list(&["a:1", bad]).unwrap_err(), bad);
        }
    }
}
