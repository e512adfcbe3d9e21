//! Holds connections to the addresses that may be dialled: when a name is resolved, and when a socket is open.

use std::{
    error::Error,
    future::Future,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use hyper_util::client::legacy::connect::{Connection, HttpInfo, dns::Name};
use ipnet::IpNet;
use tower::Service;

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

/// Resolves names to addresses that pass the guard, if there is one. The client dials those and asks no second time.
#[derive(Clone)]
pub(super) struct GuardedResolver(pub(super) Option<Arc<Guard>>);

impl Service<Name> for GuardedResolver {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let guard = self.0.clone();
        Box::pin(async move {
            let found = match guard {
                Some(guard) => guard.look_up(name.as_str()).await?,
                None => tokio::net::lookup_host((name.as_str(), 0)).await?.collect(),
            };
            Ok(found.into_iter())
        })
    }
}

/// A connector that checks the far end of every new connection before a request goes through it, however it came about; if
/// there is a guard.
#[derive(Clone)]
pub(super) struct GuardedConnector<S> {
    inner: S,
    guard: Option<Arc<Guard>>,
}

impl<S> GuardedConnector<S> {
    pub(super) fn new(inner: S, guard: Option<Arc<Guard>>) -> Self {
        Self { inner, guard }
    }
}

impl<S, R> Service<R> for GuardedConnector<S>
where
    S: Service<R, Error: Into<BoxError>>,
    S::Response: Connection,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, destination: R) -> Self::Future {
        let connecting = self.inner.call(destination);
        let guard = self.guard.clone();
        Box::pin(async move {
            let connection = connecting.await.map_err(Into::into)?;
            if let Some(guard) = guard {
                let mut extras = http::Extensions::new();
                connection.connected().get_extras(&mut extras);
                let far_end = extras.get::<HttpInfo>().ok_or(Refused)?.remote_addr();
                guard.check(far_end.ip())?;
            }
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
            let guard = Arc::new(Guard::new(ranges, true));
            let connector = GuardedConnector::new(HttpConnector::new(), Some(guard));
            let destination: http::Uri = format!("http://{address}/").parse().unwrap();
            connector.oneshot(destination).await
        };

        let refused = connect(Vec::new()).await.unwrap_err();
        let fine = connect(vec!["127.0.0.0/8".parse().unwrap()]).await;

        assert!(refused.is::<Refused>());
        assert!(fine.is_ok());
    }
}
