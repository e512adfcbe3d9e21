//! Serving: connections in, requests to the router, and a stop that cuts nobody off.

use std::{
    convert::Infallible,
    io,
    net::SocketAddr,
    pin::pin,
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{
    Router,
    body::Body,
    http::{Uri, Version, uri::PathAndQuery},
};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::{conn::auto, graceful::GracefulShutdown},
};
use tokio::{net::TcpListener, sync::Semaphore};
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use crate::{
    closing::{emptied, last_arrival},
    doors::{Doors, House, OpenHouse},
    framing::{Framed, MAX_BYTES, MAX_FIELDS},
    options::LimitsOptions,
    patience::{LastByte, OnStall, Patience, Patient, Reclaimed, Requests, bound},
    reserve::Reserve,
    router,
};

const HTTP2_STREAMS: u32 = 100;
const HTTP2_WINDOW: u32 = 64 * 1024;
/// For the answers of calls that were cut off to leave.
const LAST_ANSWERS: Duration = Duration::from_secs(2);
/// For connections to close in order.
const LAST_GOODBYES: Duration = Duration::from_secs(1);
/// For a request that is on its way while its connection is about to be closed.
const LAST_REQUESTS: Duration = Duration::from_millis(250);
/// How long to wait when no connection can be accepted, for want of descriptors mostly.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Storage failed in a way that only a restart can recover from.
#[derive(Debug, thiserror::Error)]
#[error(
    "storage failed to sync and nothing can be recorded any more; a restart recovers what was kept"
)]
pub struct StorageLost;

/// A server whose addresses are bound: nobody is turned away between now and [`Server::run`].
pub struct Server {
    doors: Doors,
    main: TcpListener,
    metrics: Option<TcpListener>,
}

impl Server {
    /// Binds the addresses.
    ///
    /// # Errors
    /// The address is in use, or not ours.
    pub async fn bind(house: House) -> io::Result<Self> {
        let main = listen(house.server.listen).await?;
        let metrics = match house.metrics.listen {
            Some(address) => Some(listen(address).await?),
            None => None,
        };
        let mut house = house;
        house.server.listen = main.local_addr()?;
        Ok(Self {
            doors: Arc::new(OpenHouse::new(house)),
            main,
            metrics,
        })
    }

    /// The main address, with the port that was chosen where none was named.
    pub fn address(&self) -> SocketAddr {
        self.doors.server.listen
    }

    /// Serves until `stop`, lets what was accepted finish, and closes the gateway.
    ///
    /// # Errors
    /// [`StorageLost`] if it stopped because nothing can be recorded any more.
    pub async fn run(self, stop: CancellationToken) -> Result<(), StorageLost> {
        let Self {
            doors,
            main,
            metrics,
        } = self;
        let ended = CancellationToken::new();
        let places = Arc::new(Semaphore::new(
            doors.limits.connections.min(Semaphore::MAX_PERMITS),
        ));
        let main_router = router::router(doors.clone());
        let accept = |listener, router| {
            let (doors, places, ended) = (doors.clone(), places.clone(), ended.clone());
            tokio::spawn(async move { accept(&doors, &listener, router, &places, &ended).await })
        };
        let main = accept(main, main_router);
        let metrics =
            metrics.map(|listener| accept(listener, router::metrics_router(doors.clone())));

        let watched = (doors.clone(), ended.clone());
        tokio::spawn(async move { watched.0.admission.watch(&watched.1).await });

        let storage_lost = tokio::select! {
            () = stop.cancelled() => false,
            () = doors.gateway.storage_lost() => true,
        };
        // Whoever comes now is told so: the doors stay open until the last request of before has ended.
        doors.admission.drain();
        doors.requests.close();
        let within =
            Duration::try_from_secs_f64(doors.server.drain_seconds).unwrap_or(Duration::MAX);
        let began = Instant::now();
        if tokio::time::timeout(within, doors.requests.wait())
            .await
            .is_err()
        {
            tracing::warn!(
                seconds = within.as_secs_f64(),
                "some calls did not end in time and are cut off"
            );
            doors.gateway.stop_calls().await;
            // Their answers still have to leave; a client that does not read them is not waited for.
            let _ = tokio::time::timeout(LAST_ANSWERS, doors.requests.wait()).await;
        }

        ended.cancel();
        for listener in [Some(main), metrics].into_iter().flatten() {
            if let Ok(open) = listener.await {
                // Each answer closes its connection now; who keeps quiet is not waited for.
                let _ = tokio::time::timeout(LAST_REQUESTS, emptied(&open)).await;
                // What is open now is idle, which closes at once, or still writes its last answer.
                let left = within.saturating_sub(began.elapsed()).max(LAST_GOODBYES);
                let _ = tokio::time::timeout(left, open.shutdown()).await;
            }
        }
        doors.gateway.close().await;
        if storage_lost {
            Err(StorageLost)
        } else {
            Ok(())
        }
    }
}

async fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let named = |error: io::Error| {
        io::Error::new(error.kind(), format!("cannot listen on {address}: {error}"))
    };
    TcpListener::bind(address).await.map_err(named)
}

/// Accepts connections until `ended`, the last in the queue included, and hands back those that are still open.
async fn accept(
    doors: &Doors,
    listener: &TcpListener,
    router: Router,
    places: &Arc<Semaphore>,
    ended: &CancellationToken,
) -> GracefulShutdown {
    let open = GracefulShutdown::new();
    let builder = builder();
    let patience = patience(&doors.limits);
    let mut reserve = Reserve::new();
    let mut last_arrival = pin!(last_arrival(listener, ended));
    loop {
        let stream = tokio::select! {
            biased;
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    if !reserve.refuse(&error, listener).await {
                        reserve = Reserve::new();
                        tokio::time::sleep(ACCEPT_PAUSE).await;
                    }
                    if ended.is_cancelled() {
                        return open;
                    }
                    continue;
                }
            },
            () = &mut last_arrival => return open,
        };
        let Ok(permit) = places.clone().try_acquire_owned() else {
            tracing::warn!(
                limit = doors.limits.connections,
                "a connection was refused: too many are open"
            );
            continue;
        };
        // An answer that waits for a delayed acknowledgement takes 40 ms.
        if stream.set_nodelay(true).is_err() {
            continue;
        }
        // Without it answers are as good, and a slow reader costs more.
        let _ = bound(&stream);
        let router = router.clone();
        let requests = Requests::of(&doors.requests);
        let stream = Framed::new(Patient::new(stream, patience, requests.clone()));
        let service = service_fn(move |request| {
            answer(router.clone(), request, (requests.clone(), patience))
        });
        let connection = builder
            .serve_connection(TokioIo::new(stream), service)
            .into_owned();
        let connection = open.watch(connection);
        tokio::spawn(async move {
            let _permit = permit;
            // A connection that breaks concerns nobody but its client.
            if let Err(error) = connection.await {
                tracing::trace!(%error, "a connection broke");
            }
        });
    }
}

fn patience(limits: &LimitsOptions) -> Patience {
    let seconds = |seconds| Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
    Patience {
        head: seconds(limits.header_timeout_seconds),
        idle: seconds(limits.idle_timeout_seconds),
        reader: seconds(limits.reader_timeout_seconds),
    }
}

pub(crate) fn builder() -> auto::Builder<TokioExecutor> {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        // How long a head may take is `Patient`'s: here the time between requests would count as well.
        .header_read_timeout(None)
        .max_buf_size(MAX_BYTES)
        .max_headers(MAX_FIELDS)
        .half_close(false);
    builder
        .http2()
        .max_concurrent_streams(HTTP2_STREAMS)
        .initial_stream_window_size(HTTP2_WINDOW)
        .max_header_list_size(u32::try_from(MAX_BYTES).unwrap_or(u32::MAX));
    builder
}

pub(crate) async fn answer(
    router: Router,
    request: hyper::Request<Incoming>,
    (requests, patience): (Requests, Patience),
) -> Result<hyper::Response<Reclaimed<LastByte<Body>>>, Infallible> {
    let under_way = requests.begin();
    let is_http2 = request.version() == Version::HTTP_2;
    let mut request = request.map(Body::new);
    request.extensions_mut().insert(requests);
    if let Some(uri) = without_trailing_slash(request.uri()) {
        *request.uri_mut() = uri;
    }
    let mut response = router.oneshot(request).await?;
    let on_stall = response.extensions_mut().remove::<OnStall>();
    let on_stall = on_stall.unwrap_or_default();
    Ok(response.map(|body| {
        let fits = http_body::Body::size_hint(&body)
            .upper()
            .is_some_and(|size| size <= u64::from(HTTP2_WINDOW));
        let body = LastByte::new(body, on_stall.clone(), under_way);
        if is_http2 && !fits {
            Reclaimed::watched(body, patience.reader, on_stall)
        } else {
            Reclaimed::Unwatched(body)
        }
    }))
}

/// One trailing slash counts as none, without a redirect: some clients turn a redirected POST into a GET.
fn without_trailing_slash(uri: &Uri) -> Option<Uri> {
    let path = uri
        .path()
        .strip_suffix('/')
        .filter(|path| !path.is_empty())?;
    let path_and_query = match uri.query() {
        Some(query) => PathAndQuery::try_from(format!("{path}?{query}")),
        None => PathAndQuery::try_from(path),
    };
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = path_and_query.ok();
    Uri::from_parts(parts).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_trailing_slash_counts_as_none() {
        let normal =
            |text: &str| without_trailing_slash(&text.parse().unwrap()).map(|uri| uri.to_string());

        assert_eq!(
            normal("/v2/functions/?limit=1").as_deref(),
            Some("/v2/functions?limit=1")
        );
        assert_eq!(normal("http://host/v2/").as_deref(), Some("http://host/v2"));
        assert_eq!(normal("/v2//").as_deref(), Some("/v2/"));
        for text in ["/", "/v2", "/v2?a=/"] {
            assert_eq!(normal(text), None, "{text}");
        }
    }
}
