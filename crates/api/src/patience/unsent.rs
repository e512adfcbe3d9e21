//! How much of an answer waits in the system for a slow reader; the system's own choice would be megabytes.

use std::io;

use socket2::SockRef;
use tokio::net::TcpStream;

/// What was sent and is not acknowledged counts as well: with less, a long answer waits for its reader's acknowledgements
/// (40 ms each on the same machine). The system takes twice the number.
const SEND_BUFFER_BYTES: usize = 256 * 1024;
/// Of it, what was not even sent: all that a reader leaves who takes nothing.
#[cfg(target_os = "linux")]
const UNSENT_BYTES: u32 = 32 * 1024;

/// Bounds what waits.
pub(crate) fn bound(stream: &TcpStream) -> io::Result<()> {
    let socket = SockRef::from(stream);
    #[cfg(target_os = "linux")]
    socket.set_tcp_notsent_lowat(UNSENT_BYTES)?;
    socket.set_send_buffer_size(SEND_BUFFER_BYTES)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::TcpListener,
    };

    use super::*;

    /// Our end of a connection, and the reader's.
    async fn connection() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let reader = TcpStream::connect(listener.local_addr().unwrap()).await;
        let (ours, _) = listener.accept().await.unwrap();
        bound(&ours).unwrap();
        (ours, reader.unwrap())
    }

    #[tokio::test]
    async fn a_long_answer_does_not_wait_for_its_readers_acknowledgements() {
        let (mut ours, mut reader) = connection().await;
        let answer = vec![b'x'; 16 * 1024 * 1024];
        let taking = tokio::spawn(async move {
            let mut taken = Vec::new();
            reader.read_to_end(&mut taken).await.unwrap();
            taken.len()
        });

        let sending = async {
            ours.write_all(&answer).await.unwrap();
            ours.shutdown().await.unwrap();
        };
        let sent = tokio::time::timeout(Duration::from_secs(4), sending).await;

        assert!(sent.is_ok());
        assert_eq!(taking.await.unwrap(), answer.len());
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn little_waits_for_a_reader_who_takes_nothing() {
        let (mut ours, reader) = connection().await;
        SockRef::from(&reader)
            .set_recv_buffer_size(16 * 1024)
            .unwrap();
        let mut taken = 0;

        let filling = async {
            loop {
                taken += ours.write(&[b'x'; 4096]).await.unwrap();
            }
        };
        let filled = tokio::time::timeout(Duration::from_secs(1), filling).await;

        assert!(filled.is_err());
        assert!(taken < SEND_BUFFER_BYTES, "{taken}");
    }
}
