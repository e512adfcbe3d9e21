//! What every handler can reach, and what happens around each of them.

use std::{sync::Arc, time::Instant};

use axum::{
    extract::{MatchedPath, Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use domain::seams::Ids;
use engine::Gateway;
use tokio_util::task::TaskTracker;

use crate::{
    admission::Admission,
    framing,
    options::{LimitsOptions, MetricsOptions, ServerOptions},
    patience::Requests,
    problem::Problem,
};

const MAX_VALUE_BYTES: usize = 8 * 1024;
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Renders the metrics as text.
pub type RenderMetrics = Arc<dyn Fn() -> String + Send + Sync>;

/// What the doors are built from.
pub struct House {
    /// The services.
    pub gateway: Gateway,
    /// `[server]`.
    pub server: ServerOptions,
    /// `[limits]`.
    pub limits: LimitsOptions,
    /// `[metrics]`.
    pub metrics: MetricsOptions,
    /// Renders what `/metrics` shows.
    pub render_metrics: RenderMetrics,
    /// Makes request ids.
    pub ids: Arc<dyn Ids>,
}

/// A house with its admission: the state of the router.
pub(crate) struct OpenHouse {
    pub(crate) gateway: Gateway,
    pub(crate) server: ServerOptions,
    pub(crate) limits: LimitsOptions,
    pub(crate) metrics: MetricsOptions,
    pub(crate) render_metrics: RenderMetrics,
    pub(crate) admission: Admission,
    /// Every request that is not answered to the end.
    pub(crate) requests: TaskTracker,
    ids: Arc<dyn Ids>,
}

pub(crate) type Doors = Arc<OpenHouse>;

impl OpenHouse {
    pub(crate) fn new(house: House) -> Self {
        Self {
            admission: Admission::new(&house.limits),
            requests: TaskTracker::new(),
            gateway: house.gateway,
            server: house.server,
            limits: house.limits,
            metrics: house.metrics,
            render_metrics: house.render_metrics,
            ids: house.ids,
        }
    }
}

/// Around every request: an id, the body of a problem, the headers of every answer, one log line, one count.
pub(crate) async fn attend(State(doors): State<Doors>, request: Request, next: Next) -> Response {
    let began = Instant::now();
    let request_id = request_id(&request, &*doors.ids);
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let route = route.as_ref().map_or("", MatchedPath::as_str);

    let requests = request.extensions().get::<Requests>().cloned();

    let mut response = match refused_head(request.headers()) {
        None => next.run(request).await,
        Some(problem) => {
            requests.iter().for_each(Requests::leave_unread);
            problem.into_response()
        }
    };

    let class = match response.extensions_mut().remove::<Problem>() {
        Some(problem) => {
            report(&problem, &request_id);
            let allow = response.headers_mut().remove(header::ALLOW);
            response = problem.answer(&request_id);
            response
                .headers_mut()
                .extend(allow.map(|allow| (header::ALLOW, allow)));
            problem.class()
        }
        None => "",
    };
    let headers = response.headers_mut();
    headers
        .entry(header::CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    headers.insert(
        REQUEST_ID,
        HeaderValue::from_str(&request_id).expect("an id is visible ASCII"),
    );

    let is_unread = requests.is_some_and(|requests| requests.last_is_unread());
    if is_unread || doors.admission.is_draining() {
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }

    let status = response.status().as_u16();
    let ms = began.elapsed().as_millis();
    tracing::debug!(request_id, %method, route, status, ms, error.code = class, "answered");
    let labels = [("route", route.to_owned()), ("status", status.to_string())];
    metrics::counter!("gatewright_requests_total", &labels).increment(1);
    response
}

/// What no client sends by accident: a head that two servers in a row may read in two ways, and values without measure
/// (`reliability.md` 3 and 5).
fn refused_head(headers: &HeaderMap) -> Option<Problem> {
    if let Some(why) = headers.get(framing::REFUSED) {
        return Some(if why == framing::TOO_LARGE {
            Problem::large_head()
        } else {
            Problem::bad_framing()
        });
    }
    let is_long = |value: &HeaderValue| value.len() > MAX_VALUE_BYTES;
    headers
        .values()
        .any(is_long)
        .then(|| Problem::long_header(MAX_VALUE_BYTES))
}

/// The caller's own id where it is harmless, else a new one.
fn request_id(request: &Request, ids: &dyn Ids) -> String {
    let harmless = |id: &&str| {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        (1..=64).contains(&id.len()) && id.bytes().all(allowed)
    };
    let given = request
        .headers()
        .get(REQUEST_ID)
        .and_then(|value| value.to_str().ok());
    given
        .filter(harmless)
        .map_or_else(|| ids.next().to_string(), str::to_owned)
}

fn report(problem: &Problem, request_id: &str) {
    let Some(cause) = problem.cause() else { return };
    if problem.is_ours() {
        tracing::error!(request_id, cause = %cause, "a request failed for a fault of ours");
    } else {
        tracing::warn!(request_id, error.code = problem.class(), cause = %cause, "a request could not be served");
    }
}
