//! Holds connections to the addresses that may be dialled: when a name is resolved, and when a socket is open.

use std::{
    error::Error,
    future::Future,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use hyper_util::client::legacy::connect::{Connection, HttpInfo};
use ipnet::IpNet;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tower::{Layer, Service};

use super::address;

type BoxError = Box<dyn Error + Send + Sync>;

/// The address may not be dialled.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the address is not allowed")]
pub(super) struct Refused;

/// Which addresses may be dialled.
#[derive(Debug)]
pub(super) struct Guard {
    ranges: Vec<IpNet>,
    public: bool,
}

impl Guard {
    /// Lets pass what is in `ranges`, and public addresses if `public` says so.
    pub(super) fn new(ranges: Vec<IpNet>, public: bool) -> Self {
        Self { ranges, public }
    }

    /// Checks one address.
    pub(super) fn check(&self, ip: IpAddr) -> Result<(), Refused> {
        let ip = address::canonical(ip);
        let passes = (self.public && address::is_public(ip))
            || self.ranges.iter().any(|range| range.contains(&ip));
        passes.then_some(()).ok_or(Refused)
    }

    /// Checks the machine itself, under either of its addresses.
    pub(super) fn check_loopback(&self) -> Result<(), Refused> {
        let [v4, v6] = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
        self.check(v4).or_else(|Refused| self.check(v6))
    }

    /// Looks a name up. One refused address refuses the name.
    pub(super) async fn look_up(&self, name: &str) -> Result<Vec<SocketAddr>, BoxError> {
        let found: Vec<SocketAddr> = tokio::net::lookup_host((name, 0)).await?.collect();
        for address in &found {
            self.check(address.ip())?;
        }
        Ok(found)
    }
}

/// Resolves names to addresses that pass the guard. The client dials those and asks no second time.
pub(super) struct GuardedResolver(pub(super) Arc<Guard>);

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let guard = self.0.clone();
        Box::pin(async move {
            let found = guard.look_up(name.as_str()).await?;
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// Checks the far end of every new connection before a request goes through it, however it came about.
#[derive(Clone)]
pub(super) struct GuardLayer(pub(super) Arc<Guard>);

impl<S> Layer<S> for GuardLayer {
    type Service = GuardedConnector<S>;

    fn layer(&self, inner: S) -> GuardedConnector<S> {
        GuardedConnector {
            inner,
            guard: self.0.clone(),
        }
    }
}

/// A connector whose connections are checked.
#[derive(Clone)]
pub(super) struct GuardedConnector<S> {
    inner: S,
    guard: Arc<Guard>,
}

impl<S, R> Service<R> for GuardedConnector<S>
where
    S: Service<R, Error = BoxError>,
    S::Response: Connection,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, destination: R) -> Self::Future {
        let connecting = self.inner.call(destination);
        let guard = self.guard.clone();
        Box::pin(async move {
            let connection = connecting.await?;
            let mut extras = http::Extensions::new();
            connection.connected().get_extras(&mut extras);
            let far_end = extras.get::<HttpInfo>().ok_or(Refused)?.remote_addr();
            guard.check(far_end.ip())?;
            Ok(connection)
        })
    }
}

#[cfg(test)]
mod tests {
    use hyper_util::client::legacy::connect::HttpConnector;
    use tower::ServiceExt;

    use super::*;

    #[test]
    fn ranges_and_public_addresses_pass() {
        let private = || vec!["10.0.0.0/8".parse().unwrap()];
        let passes = |guard: &Guard, ip: &str| guard.check(ip.parse().unwrap()).is_ok();
        let ranges = Guard::new(private(), false);
        let both = Guard::new(private(), true);

        let pass = ["10.1.1.1", "::ffff:10.1.1.1", "8.8.8.8", "127.0.0.1"]
            .map(|ip| (passes(&ranges, ip), passes(&both, ip)));

        assert_eq!(
            pass,
            [(true, true), (true, true), (false, true), (false, false)]
        );
    }

    #[tokio::test]
    async fn a_name_of_a_refused_address_is_refused() {
        let error = Guard::new(Vec::new(), true)
            .look_up("localhost")
            .await
            .unwrap_err();

        assert!(error.is::<Refused>());
    }

    #[tokio::test]
    async fn an_open_connection_to_a_refused_address_is_given_up() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let connect = async |ranges| {
            let connector = HttpConnector::new().map_err(BoxError::from);
            let layer = GuardLayer(Arc::new(Guard::new(ranges, true)));
            let destination: http::Uri = format!("http://{address}/").parse().unwrap();
            layer.layer(connector).oneshot(destination).await
        };

        let refused = connect(Vec::new()).await.unwrap_err();
        let fine = connect(vec!["127.0.0.0/8".parse().unwrap()]).await;

        assert!(refused.is::<Refused>());
        assert!(fine.is_ok());
    }
}
