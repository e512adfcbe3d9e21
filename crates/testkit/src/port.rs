use std::net::{Ipv4Addr, SocketAddr};

use tokio::net::TcpSocket;

/// A port of this machine on which nobody listens: connections to it are refused.
///
/// As long as the value lives no other test is given the port; who names it may still listen there.
#[derive(Debug)]
pub struct QuietPort(TcpSocket);

impl QuietPort {
    /// Takes a port.
    ///
    /// # Panics
    ///
    /// Where the machine has none left.
    pub fn take() -> Self {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.set_reuseaddr(true).expect("an address to share");
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        socket.bind(any).expect("a port that is free");
        Self(socket)
    }

    /// Its address, of the loopback interface.
    pub fn address(&self) -> SocketAddr {
        self.0.local_addr().expect("a socket that is bound")
    }
}
