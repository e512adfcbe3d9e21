//! What needs no token: `/healthz`, `/readyz`, `/metrics`, the document, the reference; and what every answer carries.

use reqwest::Method;
use serde_json::json;
use testkit::QuietPort;

use crate::server::Server;

#[tokio::test]
async fn the_open_routes_need_no_token() {
    let server = Server::start();
    let open = server.api_with("");

    assert_eq!(open.get("/healthz").await.body, json!({"status": "ok"}));
    assert_eq!(open.get("/readyz").await.body, json!({"status": "ready"}));
    assert_eq!(open.get("/openapi.json").await.body["openapi"], "3.1.0");
    let page = open.get("/docs").await;
    assert_eq!(page.status, 200);
    assert!(
        page.headers["content-type"]
            .to_str()
            .unwrap()
            .starts_with("text/html")
    );
    assert!(page.headers.contains_key("content-security-policy"));
}

#[tokio::test]
async fn metrics_count_calls() {
    let server = Server::start();
    let api = server.api();
    let function = api.echo().await;
    api.call(&function, json!({"input": "hi"})).await;

    let metrics = server.api_with("").get("/metrics").await;

    assert_eq!(metrics.status, 200);
    assert!(
        metrics
            .text
            .contains("gatewright_calls_total{outcome=\"answered\"} 1"),
        "{}",
        metrics.text
    );
    assert!(
        metrics.text.contains("gatewright_requests_total{"),
        "{}",
        metrics.text
    );
}

#[tokio::test]
async fn metrics_with_an_address_of_their_own_are_there_alone() {
    let port = QuietPort::take();
    let listen = port.address().to_string();
    let server = Server::start_with(&[("GATEWRIGHT_METRICS__LISTEN", &listen)]);

    assert_eq!(server.api_with("").get("/metrics").await.status, 404);
    let metrics = reqwest::get(format!("http://{listen}/metrics"))
        .await
        .unwrap();
    assert_eq!(metrics.status(), 200);
}

#[tokio::test]
async fn unknown_paths_and_methods_have_the_error_body() {
    let server = Server::start();
    let api = server.api();

    for path in [
        "/v2",
        "/v2/nothing",
        "/v2/functions/a/b/c/d",
        "/v2//functions",
        "/v2/../v2/functions;x",
    ] {
        let answer = api.get(path).await;
        assert_eq!(
            (answer.status.as_u16(), answer.class()),
            (404, "NotFoundError"),
            "{path}"
        );
    }
    let answer = api.send(Method::PUT, "/v2/functions", None).await;
    assert_eq!(
        (answer.status.as_u16(), answer.class()),
        (405, "MethodNotAllowedError")
    );
    let allowed = answer.headers["allow"].to_str().unwrap();
    assert!(
        allowed.contains("GET") && allowed.contains("POST"),
        "{allowed}"
    );
}

#[tokio::test]
async fn a_trailing_slash_counts_as_none() {
    let server = Server::start();
    let api = server.api();

    let created = api
        .post(
            "/v2/functions/",
            json!({"name": "a/b", "instructions": "x"}),
        )
        .await;
    assert_eq!(created.status, 201);
    let id = created.body["id"].as_str().unwrap();
    assert_eq!(api.get(&format!("/v2/functions/{id}/")).await.status, 200);
    assert_eq!(api.get("/v2/functions/by-name/a/b/").await.status, 200);
    assert_eq!(
        api.get("/v2/functions/?limit=1").await.body["meta"]["total_count"],
        1
    );
}

#[tokio::test]
async fn a_harmless_request_id_is_kept_and_another_replaced() {
    let server = Server::start();
    let client = reqwest::Client::new();
    let url = format!("{}/healthz", server.address);
    let ask = async |id: &str| {
        let answer = client
            .get(&url)
            .header("x-request-id", id)
            .send()
            .await
            .unwrap();
        answer.headers()["x-request-id"]
            .to_str()
            .unwrap()
            .to_owned()
    };

    assert_eq!(ask("mine-1.2_3").await, "mine-1.2_3");
    for id in ["a b", &"a".repeat(65), "<script>"] {
        assert_eq!(ask(id).await.len(), 36, "{id}");
    }
}

#[tokio::test]
async fn private_answers_are_not_to_be_stored() {
    let server = Server::start();

    assert_eq!(
        server.api().get("/v2/functions").await.headers["cache-control"],
        "no-store"
    );
}
