//! Connections that are kept open after one request.

use std::net::SocketAddr;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    task::JoinSet,
};

use crate::Failure;

/// So many are opened at once: no more than wait for being accepted.
const AT_ONCE: usize = 100;

/// Opens them.
pub(crate) async fn open(address: SocketAddr, count: usize) -> Result<Vec<TcpStream>, Failure> {
    let mut opened = Vec::with_capacity(count);
    while opened.len() < count {
        let mut opening = JoinSet::new();
        for _ in opened.len()..count.min(opened.len() + AT_ONCE) {
            opening.spawn(one(address));
        }
        while let Some(one) = opening.join_next().await {
            opened.push(one??);
        }
    }
    Ok(opened)
}

async fn one(address: SocketAddr) -> std::io::Result<TcpStream> {
    let mut stream = TcpStream::connect(address).await?;
    stream
        .write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n")
        .await?;
    // The rest of the answer waits unread; it is short.
    stream.read_u8().await?;
    Ok(stream)
}
