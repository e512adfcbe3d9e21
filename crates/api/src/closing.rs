//! How a door closes on nobody: the last connections in its queue are accepted, the last ones that are open end.

use std::{io, time::Duration};

use hyper_util::server::graceful::GracefulShutdown;
#[cfg(target_os = "linux")]
use socket2::SockFilter;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// For handshakes that have begun to end: whoever was let in at the far end is served, not reset.
const LAST_ARRIVALS: Duration = Duration::from_millis(100);
/// Between two looks at how many connections are open.
const LOOK: Duration = Duration::from_millis(5);

/// Waits until no connection is open any more.
pub(crate) async fn emptied(open: &GracefulShutdown) {
    while open.count() > 0 {
        tokio::time::sleep(LOOK).await;
    }
}

/// Waits for the end of serving, and for the last of those who were on their way in then.
pub(crate) async fn last_arrival(listener: &TcpListener, ended: &CancellationToken) {
    ended.cancelled().await;
    if let Err(error) = turn_away(listener) {
        tracing::debug!(%error, "who connects at the very end may be reset");
    }
    tokio::time::sleep(LAST_ARRIVALS).await;
}

/// Drops the first packet of every new connection. Its client sends it again after a second, and is refused or served
/// by the next server; closing the listener at once would reset whoever is in its queue.
#[cfg(target_os = "linux")]
fn turn_away(listener: &TcpListener) -> io::Result<()> {
    const LOAD_BYTE: u16 = 0x30;
    const JUMP_IF_SET: u16 = 0x45;
    const RETURN: u16 = 0x06;
    const FLAGS_AT: u32 = 13;
    const SYN: u32 = 2;
    socket2::SockRef::from(listener).attach_filter(&[
        SockFilter::new(LOAD_BYTE, 0, 0, FLAGS_AT),
        SockFilter::new(JUMP_IF_SET, 0, 1, SYN),
        SockFilter::new(RETURN, 0, 0, 0),
        SockFilter::new(RETURN, 0, 0, u32::MAX),
    ])
}

#[cfg(not(target_os = "linux"))]
fn turn_away(_: &TcpListener) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
