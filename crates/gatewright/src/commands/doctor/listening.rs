//! The addresses to listen on: whether they are free, and who could reach them.

use std::{
    fs,
    io::ErrorKind,
    net::{IpAddr, SocketAddr, TcpListener},
};

use store::Inspection;

use super::finding::Finding;
use crate::config::Options;

/// What the kernel calls a socket that listens.
const LISTENING: &str = "0A";

/// Looks at the main address, at that of the metrics, and whether anybody has a token.
pub(super) fn look(options: &Options, inspected: Option<&Inspection>) -> Vec<Finding> {
    let holder = inspected.and_then(|found| found.holder.as_deref());
    let main = options.server.listen;
    let mut findings = vec![free("listening address", "server.listen", main, holder)];
    if !main.ip().is_loopback() {
        findings.push(Finding::warn(
            "listening address",
            format!("{main} can be reached from other machines, and tokens and prompts would cross the network in clear"),
            "put a proxy with TLS before it, or listen on 127.0.0.1",
        ));
    }
    if let Some(metrics) = options.metrics.listen {
        findings.push(free("metrics address", "metrics.listen", metrics, holder));
        if !metrics.ip().is_loopback() {
            findings.push(Finding::warn(
                "metrics address",
                format!("{metrics} can be reached from other machines, and asks for no token"),
                "let only who collects them through to it",
            ));
        }
    }
    let tokens = inspected.and_then(|found| Some(found.database.as_ref()?.tokens));
    findings.push(match tokens {
        None | Some(0) => Finding::warn(
            "tokens",
            "nobody has one, so nobody can call",
            "`gatewright token create --project default`, or GATEWRIGHT_BOOTSTRAP_TOKENS at the start",
        ),
        Some(count) => Finding::ok("tokens", format!("{count}, not revoked")),
    });
    findings
}

fn free(check: &str, key: &str, address: SocketAddr, holder: Option<&str>) -> Finding {
    let Err(error) = TcpListener::bind(address) else {
        return Finding::ok(check, format!("{address} is free"));
    };
    match error.kind() {
        ErrorKind::AddrInUse => {
            let user = user(address);
            let is_ours = user
                .as_ref()
                .is_some_and(|user| Some(user.process.as_str()) == holder);
            match user {
                Some(_) if is_ours => {
                    Finding::ok(check, format!("{address} is the running server's"))
                }
                Some(user) => Finding::fail(
                    check,
                    format!(
                        "{address} is in use by `{}`, {}",
                        user.program, user.process
                    ),
                    format!("stop that one, or choose another address with `{key}`"),
                ),
                None => Finding::fail(
                    check,
                    format!("{address} is in use by a process of another user"),
                    format!(
                        "choose another address with `{key}`, or find it as root with `ss -ltnp`"
                    ),
                ),
            }
        }
        ErrorKind::PermissionDenied => Finding::fail(
            check,
            format!("{address}: this user may not listen on that port"),
            format!(
                "choose one from 1024 on with `{key}`, or give the program CAP_NET_BIND_SERVICE"
            ),
        ),
        ErrorKind::AddrNotAvailable => Finding::fail(
            check,
            format!("{address}: this machine has no such address"),
            format!("`ip address` shows those that it has; `{key}` names one"),
        ),
        _ => Finding::fail(
            check,
            format!("{address}: {error}"),
            format!("choose another one with `{key}`"),
        ),
    }
}

/// A process that listens.
struct User {
    /// `process 123`.
    process: String,
    program: String,
}

/// Who listens on an address, as far as this user may know.
fn user(address: SocketAddr) -> Option<User> {
    let sockets: Vec<String> = ["/proc/net/tcp", "/proc/net/tcp6"]
        .iter()
        .filter_map(|table| fs::read_to_string(table).ok())
        .flat_map(|table| listening(&table, address))
        .map(|inode| format!("socket:[{inode}]"))
        .collect();
    let processes = fs::read_dir("/proc").ok()?.flatten();
    for process in processes {
        let Some(id) = process
            .file_name()
            .to_str()
            .and_then(|name| name.parse::<u32>().ok())
        else {
            continue;
        };
        let files = fs::read_dir(process.path().join("fd"))
            .into_iter()
            .flatten()
            .flatten();
        let mut open = files.filter_map(|file| fs::read_link(file.path()).ok());
        if open.any(|file| {
            sockets
                .iter()
                .any(|socket| file.as_os_str() == socket.as_str())
        }) {
            let program = fs::read_to_string(process.path().join("comm")).unwrap_or_default();
            return Some(User {
                process: format!("process {id}"),
                program: program.trim().to_owned(),
            });
        }
    }
    None
}

/// The inodes of the sockets in a table that listen where the address is, or everywhere.
fn listening(table: &str, address: SocketAddr) -> Vec<String> {
    let port = format!("{:04X}", address.port());
    let rows = table.lines().skip(1).filter_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (place, at) = fields.get(1)?.split_once(':')?;
        let is_asked = at == port && *fields.get(3)? == LISTENING;
        (is_asked && is_in_the_way(place, address.ip()))
            .then(|| fields.get(9).map(ToString::to_string))?
    });
    rows.collect()
}

/// Whether who listens at a place, in the kernel's form, takes an address: everywhere is zeros.
fn is_in_the_way(place: &str, address: IpAddr) -> bool {
    let is_everywhere = place.bytes().all(|digit| digit == b'0');
    let IpAddr::V4(address) = address else {
        // Words of an IPv6 address stand there in the machine's order: all that listen on the port are taken.
        return true;
    };
    let word = u32::from_ne_bytes(address.octets());
    is_everywhere || address.is_unspecified() || place == format!("{word:08X}")
}

#[cfg(test)]
mod tests {
    use super::{super::finding::Verdict, *};

    #[test]
    fn who_listens_on_an_address_is_found() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let process = format!("process {}", std::process::id());

        let user = user(address).unwrap();
        let by_another = free("a", "server.listen", address, None);
        let by_the_server = free("a", "server.listen", address, Some(&process));
        drop(listener);
        let by_nobody = free("a", "server.listen", address, None);

        assert_eq!(user.process, process);
        let verdicts = [by_another, by_the_server, by_nobody].map(|found| found.verdict());
        assert_eq!(verdicts, [Verdict::Fail, Verdict::Ok, Verdict::Ok]);
    }

    #[test]
    fn only_sockets_that_listen_in_the_same_place_are_in_the_way() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
            0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 11 1 0 100 0 0 10 0\n\
            1: 0200007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 12 1 0 100 0 0 10 0\n\
            2: 00000000:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 13 1 0 100 0 0 10 0\n\
            3: 0100007F:1F90 0100007F:9999 01 00000000:00000000 00:00000000 00000000     0        0 14 1 0 100 0 0 10 0\n\
            4: 0100007F:1F91 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 15 1 0 100 0 0 10 0\n";

        let found = listening(table, "127.0.0.1:8080".parse().unwrap());

        assert_eq!(found, ["11", "13"]);
    }
}
