//! Serves the built pages of `web/`: the API reference under `/docs`.
//!
//! Files only. The pages are clients of the public API like any other, and load nothing from elsewhere.

use std::{convert::Infallible, sync::LazyLock};

use axum::{
    Router,
    extract::Request,
    response::Response,
    routing::{MethodRouter, get},
};
use http::{
    HeaderValue,
    header::{CONTENT_SECURITY_POLICY, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS},
};
use memory_serve::CacheControl;
use tower::ServiceExt;
use tower_http::set_header::SetResponseHeaderLayer;
use tracing::subscriber::NoSubscriber;

/// What a page may load: its own files, inline styles and pictures, and the API it stands beside.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
     img-src 'self' data:; font-src 'self' data:; connect-src 'self'; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);

/// The packed files, unpacked at the first visit, so that a start costs nothing.
static PAGES: LazyLock<Router> = LazyLock::new(pages);

/// Returns the routes of the API reference.
pub(crate) fn routes() -> Router {
    Router::new()
        .route("/docs", page())
        .route("/docs/", page())
        .route("/docs/{*path}", page())
        .layer(header(CONTENT_SECURITY_POLICY, POLICY))
        .layer(header(
            X_CONTENT_TYPE_OPTIONS,
            HeaderValue::from_static("nosniff"),
        ))
        .layer(header(
            REFERRER_POLICY,
            HeaderValue::from_static("no-referrer"),
        ))
}

fn page() -> MethodRouter {
    get(|request: Request| async { from_pages(request).await })
}

async fn from_pages(request: Request) -> Result<Response, Infallible> {
    PAGES.clone().oneshot(request).await
}

fn pages() -> Router {
    // The crate logs one line per file, which would bury the lines of the start.
    tracing::subscriber::with_default(NoSubscriber::default(), || {
        memory_serve::load!()
            .index_file(None)
            .add_alias("/docs", "/docs/index.html")
            .add_alias("/docs/", "/docs/index.html")
            .html_cache_control(CacheControl::Custom("no-store"))
            // Every other file carries a hash of its content in its name.
            .cache_control(CacheControl::Long)
            .enable_brotli(!cfg!(debug_assertions))
            .enable_gzip(false)
            .into_router()
    })
}

fn header(name: http::HeaderName, value: HeaderValue) -> SetResponseHeaderLayer<HeaderValue> {
    SetResponseHeaderLayer::overriding(name, value)
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use http::{StatusCode, header::CACHE_CONTROL};
    use http_body_util::BodyExt;

    use super::*;

    async fn ask(path: &str) -> (Response<()>, String) {
        let request = Request::get(path).body(Body::empty()).unwrap();
        let (head, body) = routes().oneshot(request).await.unwrap().into_parts();
        let text = body.collect().await.unwrap().to_bytes();
        (
            Response::from_parts(head, ()),
            String::from_utf8_lossy(&text).into_owned(),
        )
    }

    #[tokio::test]
    async fn the_reference_is_served_with_and_without_a_slash() {
        let (without, page) = ask("/docs").await;
        let (with, same) = ask("/docs/").await;

        assert_eq!(
            (without.status(), with.status()),
            (StatusCode::OK, StatusCode::OK)
        );
        assert_eq!(page, same);
        assert!(page.contains("<title>Gatewright API</title>"), "{page}");
    }

    #[tokio::test]
    async fn a_page_may_load_nothing_from_elsewhere_and_is_not_kept() {
        let (answer, _) = ask("/docs").await;

        let headers = answer.headers();
        assert_eq!(headers[CONTENT_SECURITY_POLICY], POLICY);
        assert_eq!(headers[X_CONTENT_TYPE_OPTIONS], "nosniff");
        assert_eq!(headers[CACHE_CONTROL], "no-store");
    }

    #[tokio::test]
    async fn each_file_the_page_names_is_served_for_long() {
        let (_, page) = ask("/docs").await;
        let named = page
            .split('"')
            .filter(|text| text.starts_with("/docs/assets/"));

        for path in named {
            let (answer, _) = ask(path).await;

            assert_eq!(answer.status(), StatusCode::OK, "{path}");
            assert_eq!(
                answer.headers()[CACHE_CONTROL],
                "max-age=31536000, immutable"
            );
            assert_eq!(answer.headers()[X_CONTENT_TYPE_OPTIONS], "nosniff");
        }
    }

    #[tokio::test]
    async fn an_unknown_file_is_not_found() {
        let (answer, _) = ask("/docs/assets/none.js").await;

        assert_eq!(answer.status(), StatusCode::NOT_FOUND);
    }
}
