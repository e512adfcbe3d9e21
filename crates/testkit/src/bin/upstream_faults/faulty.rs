//! Upstreams that keep no protocol: each listens on a port of its own and does one thing wrong, for everyone.

use std::{
    io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use flate2::{Compress, Compression, FlushCompress};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

/// What is wrong with an upstream.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Fault {
    /// It takes the request and never says anything.
    Silent,
    /// It resets the connection.
    Reset,
    /// It sends the head of an answer, and nothing more.
    HalfOpen,
    /// It sends an answer at 1 KiB a second.
    Slow,
    /// It sends bytes that are no HTTP.
    Garbage,
    /// It sends headers without an end.
    Headers,
    /// It sends a body without an end.
    Flood,
    /// It sends a small body that unpacks without an end.
    Bomb,
    /// It sends one line of an event without an end.
    Line,
    /// It begins a stream and falls silent.
    Stall,
}

impl Fault {
    pub(crate) const ALL: [Self; 10] = [
        Self::Silent,
        Self::Reset,
        Self::HalfOpen,
        Self::Slow,
        Self::Garbage,
        Self::Headers,
        Self::Flood,
        Self::Bomb,
        Self::Line,
        Self::Stall,
    ];

    /// A word for it, which is a provider's name as well.
    pub(crate) fn name(self) -> String {
        format!("{self:?}").to_lowercase()
    }

    /// Whether it is met by a request for a stream alone.
    pub(crate) fn is_of_streams(self) -> bool {
        matches!(self, Self::Line | Self::Stall)
    }

    /// Whether a request may be sent once more for it.
    pub(crate) fn is_retried(self) -> bool {
        self == Self::Reset
    }
}

/// A running upstream with a fault. It ends when it is dropped.
pub(crate) struct Faulty {
    address: SocketAddr,
    requests: Arc<AtomicUsize>,
    accepting: JoinHandle<()>,
}

impl Faulty {
    pub(crate) async fn start(fault: Fault) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let requests = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&requests);
        let packed = endless_bomb();
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::Relaxed);
                let packed = packed.clone();
                // That its client goes away is how most of these end.
                tokio::spawn(async move {
                    let _ended = play(fault, stream, &packed).await;
                });
            }
        });
        Ok(Self {
            address,
            requests,
            accepting,
        })
    }

    /// The address that a provider's `api_base` names.
    pub(crate) fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// How many requests have come; each comes on a connection of its own.
    pub(crate) fn requests(&self) -> usize {
        self.requests.load(Ordering::Relaxed)
    }
}

impl Drop for Faulty {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

const OPENING: &str = r#"{"choices":[{"message":{"content":""#;
const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n";
const EVENTS: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
const EVENT: &str = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n";

async fn play(fault: Fault, mut stream: TcpStream, packed: &Bytes) -> io::Result<()> {
    stream.set_nodelay(true)?;
    if fault == Fault::Reset {
        // What is closed with something unread is reset.
        return stream.readable().await;
    }
    let mut asked = vec![0; 16 * 1024];
    if stream.read(&mut asked).await? == 0 {
        return Ok(());
    }
    let kilobyte = [b'a'; 1024];
    match fault {
        Fault::Reset | Fault::Silent => until_closed(stream).await,
        Fault::HalfOpen => {
            stream
                .write_all(format!("{HEAD}content-length: 5000\r\n\r\n").as_bytes())
                .await?;
            until_closed(stream).await
        }
        Fault::Slow => {
            stream
                .write_all(format!("{HEAD}content-length: 1000000\r\n\r\n{OPENING}").as_bytes())
                .await?;
            loop {
                stream.write_all(&kilobyte).await?;
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        }
        Fault::Garbage => {
            let noise: Vec<u8> = (0..4096_u32).map(|at| (at * 167 % 251) as u8).collect();
            stream.write_all(&noise).await
        }
        Fault::Headers => {
            stream.write_all(HEAD.as_bytes()).await?;
            endless(
                stream,
                format!("x-more: {}\r\n", "a".repeat(1000)).as_bytes(),
            )
            .await
        }
        Fault::Flood => {
            stream
                .write_all(format!("{HEAD}\r\n{OPENING}").as_bytes())
                .await?;
            endless(stream, &kilobyte.repeat(64)).await
        }
        Fault::Bomb => {
            stream
                .write_all(format!("{HEAD}content-encoding: gzip\r\n\r\n").as_bytes())
                .await?;
            stream.write_all(GZIP_HEAD).await?;
            endless(stream, packed).await
        }
        Fault::Line => {
            stream
                .write_all(format!("{EVENTS}{EVENT}data: ").as_bytes())
                .await?;
            endless(stream, &kilobyte.repeat(64)).await
        }
        Fault::Stall => {
            stream
                .write_all(format!("{EVENTS}{EVENT}").as_bytes())
                .await?;
            until_closed(stream).await
        }
    }
}

async fn endless(mut stream: TcpStream, piece: &[u8]) -> io::Result<()> {
    loop {
        stream.write_all(piece).await?;
    }
}

async fn until_closed(mut stream: TcpStream) -> io::Result<()> {
    let mut rest = [0; 1024];
    while stream.read(&mut rest).await? > 0 {}
    Ok(())
}

const GZIP_HEAD: &[u8] = b"\x1f\x8b\x08\0\0\0\0\0\0\xff";

/// A megabyte of one letter, packed so that it can be repeated.
fn endless_bomb() -> Bytes {
    let letters = vec![b'a'; 1024 * 1024];
    let mut packed = Vec::with_capacity(64 * 1024);
    let mut compress = Compress::new(Compression::best(), false);
    compress
        .compress_vec(&letters, &mut packed, FlushCompress::Full)
        .expect("letters can be packed");
    packed.into()
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::GzDecoder;

    use super::*;

    #[test]
    fn a_bomb_unpacks_to_letters_however_often_it_is_repeated() {
        let packed = endless_bomb();
        let bytes = [GZIP_HEAD, &packed.repeat(3)].concat();

        let mut letters = vec![0; 3 * 1024 * 1024];
        GzDecoder::new(&bytes[..]).read_exact(&mut letters).unwrap();

        assert!(letters.iter().all(|letter| *letter == b'a'));
        assert!(packed.len() * 500 < 1024 * 1024, "{}", packed.len());
    }
}
