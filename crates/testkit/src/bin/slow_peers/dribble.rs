//! Requests that are sent byte by byte, and how long the server lets them.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use testkit::Launched;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::{JoinHandle, JoinSet},
};

/// Between two pieces of one request.
const PAUSE: Duration = Duration::from_millis(200);
/// What a body is announced to have; at its pace it would take an hour.
const ANNOUNCED: usize = 400_000;
const BODY_PIECE: &[u8] = b"                    ";

type Dribbling = JoinHandle<Vec<Duration>>;

/// Sends heads without an end.
pub(crate) fn heads(address: SocketAddr, count: usize) -> Dribbling {
    let opening = "GET /healthz HTTP/1.1\r\nhost: x\r\nx-slow: ".to_owned();
    all(address, count, opening, b"y")
}

/// Sends whole heads, and their bodies at a hundred bytes a second.
pub(crate) fn bodies(address: SocketAddr, count: usize) -> Dribbling {
    let opening = format!(
        "POST /v2/call HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\ncontent-length: {ANNOUNCED}\r\n\r\n",
        Launched::TOKEN
    );
    all(address, count, opening, BODY_PIECE)
}

fn all(address: SocketAddr, count: usize, opening: String, piece: &'static [u8]) -> Dribbling {
    tokio::spawn(async move {
        let mut running = JoinSet::new();
        for _ in 0..count {
            running.spawn(one(address, opening.clone(), piece));
        }
        running.join_all().await
    })
}

/// Dribbles until the server has closed the connection; returns how long that took.
async fn one(address: SocketAddr, opening: String, piece: &[u8]) -> Duration {
    let began = Instant::now();
    let Ok(stream) = TcpStream::connect(address).await else {
        // Not let in at all: it costs nothing.
        return began.elapsed();
    };
    let (mut from, mut to) = stream.into_split();
    let sending = async {
        let mut sent = to.write_all(opening.as_bytes()).await;
        while sent.is_ok() {
            tokio::time::sleep(PAUSE).await;
            sent = to.write_all(piece).await;
        }
    };
    let mut answer = Vec::new();
    tokio::select! {
        () = sending => {}
        // An answer that comes before the request's end is read to the close.
        _ended = from.read_to_end(&mut answer) => {}
    }
    began.elapsed()
}
