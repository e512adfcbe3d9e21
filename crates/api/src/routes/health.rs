//! `/healthz`, `/readyz`, `/metrics`: for those who keep the server running. No token is asked for.

use axum::{
    Json,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::json;

use crate::{doors::Doors, problem::Problem};

/// Whether the process is alive.
pub(crate) async fn healthz() -> Response {
    Json(json!({"status": "ok"})).into_response()
}

/// Whether calls would be let in and recorded.
pub(crate) async fn readyz(State(doors): State<Doors>) -> Response {
    let status = if doors.admission.is_draining() {
        "draining"
    } else if doors.gateway.is_ready().await {
        return Json(json!({"status": "ready"})).into_response();
    } else {
        "storage"
    };
    (
        StatusCode::SERVICE_UNAVAILABLE,
        Json(json!({"status": status})),
    )
        .into_response()
}

/// The metrics, while the main address is loopback and no other one is set for them.
pub(crate) async fn metrics(State(doors): State<Doors>) -> Response {
    let is_here = doors.metrics.listen.is_none() && doors.server.listen.ip().is_loopback();
    if is_here {
        metrics_text(&doors)
    } else {
        Problem::no_route().into_response()
    }
}

/// The metrics, on an address of their own.
pub(crate) async fn metrics_elsewhere(State(doors): State<Doors>) -> Response {
    metrics_text(&doors)
}

fn metrics_text(doors: &Doors) -> Response {
    let content_type = [(
        header::CONTENT_TYPE,
        "text/plain; version=0.0.4; charset=utf-8",
    )];
    (content_type, (doors.render_metrics)()).into_response()
}
