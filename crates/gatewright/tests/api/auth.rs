//! The lock: `interface.md` 1.2.

use std::time::{Duration, Instant};

use reqwest::{Method, header};
use serde_json::json;

use crate::server::{ALPHA, BETA, Server, read};

#[tokio::test]
async fn whoever_has_no_valid_token_learns_nothing() {
    let server = Server::start();
    let client = reqwest::Client::new();
    let gw = format!("gw_{}_{}", "a".repeat(16), "b".repeat(49));
    let refused = [
        None,
        Some(String::new()),
        Some("Bearer".to_owned()),
        Some("Bearer ".to_owned()),
        Some(format!("Basic {ALPHA}")),
        Some(ALPHA.to_owned()),
        Some("Bearer unknown-token-0123456789-abcdef".to_owned()),
        Some(format!("Bearer {ALPHA}x")),
        Some(format!("Bearer {gw}")),
        Some("Bearer gw_".to_owned()),
    ];
    let mut bodies = std::collections::BTreeSet::new();

    for value in refused {
        for path in [
            "/v2/functions",
            "/v2/nothing/here",
            "/v2",
            "/v2/functions/not-a-uuid",
        ] {
            for method in [Method::GET, Method::POST, Method::PUT] {
                let mut request =
                    client.request(method, format!("{}{path}?token={ALPHA}", server.address));
                if let Some(value) = &value {
                    request = request.header(header::AUTHORIZATION, value);
                }
                let answer = read(request.body("{not json").send().await.unwrap()).await;

                assert_eq!(answer.status, 401, "{value:?} {path}");
                assert_eq!(answer.class(), "UnauthorizedError");
                assert_eq!(answer.headers["www-authenticate"], "Bearer");
                bodies.insert(answer.text);
            }
        }
    }

    assert_eq!(bodies.len(), 1, "one and the same refusal");
}

#[tokio::test]
async fn two_authorization_headers_are_refused() {
    let server = Server::start();
    let request = reqwest::Client::new()
        .get(format!("{}/v2/functions", server.address))
        .header(header::AUTHORIZATION, format!("Bearer {ALPHA}"))
        .header(header::AUTHORIZATION, format!("Bearer {ALPHA}"));

    assert_eq!(request.send().await.unwrap().status(), 401);
}

#[tokio::test]
async fn the_scheme_is_read_in_any_case() {
    let server = Server::start();
    for scheme in ["bearer", "BEARER", "BeArEr"] {
        let request = reqwest::Client::new()
            .get(format!("{}/v2/functions", server.address))
            .header(header::AUTHORIZATION, format!("{scheme} {ALPHA}"));

        assert_eq!(request.send().await.unwrap().status(), 200);
    }
}

#[tokio::test]
async fn another_project_s_resources_read_as_absent() {
    let server = Server::start();
    let (alpha, beta) = (server.api(), server.api_with(BETA));
    let function = alpha.echo().await;
    let model = alpha.model("m", "http://127.0.0.1:9/v1").await;
    let called = alpha.call(&function, json!({"input": "hi"})).await;
    let (id, revision) = (
        function["id"].as_str().unwrap(),
        function["revision_id"].as_str().unwrap(),
    );
    let span = called.body["span_id"].as_str().unwrap();
    let model = model["id"].as_str().unwrap();

    let foreign = [
        beta.get(&format!("/v2/functions/{id}")).await,
        beta.get("/v2/functions/by-name/f").await,
        beta.patch(&format!("/v2/functions/{id}"), json!({"instructions": "y"}))
            .await,
        beta.delete(&format!("/v2/functions/{id}")).await,
        beta.get(&format!("/v2/functions/{id}/revisions")).await,
        beta.get(&format!("/v2/functions/{id}/revisions/{revision}"))
            .await,
        beta.post(&format!("/v2/functions/{id}/call"), json!({}))
            .await,
        beta.post(&format!("/v2/functions/{id}/call/{revision}"), json!({}))
            .await,
        beta.get(&format!("/v2/models/custom/{model}")).await,
        beta.get("/v2/models/custom/by-name/m").await,
        beta.patch(&format!("/v2/models/custom/{model}"), json!({"name": "n"}))
            .await,
        beta.delete(&format!("/v2/models/custom/{model}")).await,
        beta.get(&format!("/v2/spans/{span}")).await,
    ];

    for answer in &foreign {
        assert_eq!(answer.status, 404, "{answer:?}");
        assert_eq!(answer.class(), "NotFoundError");
    }
    assert_eq!(
        beta.get("/v2/functions").await.body["meta"]["total_count"],
        0
    );
    assert_eq!(
        beta.get("/v2/models/custom").await.body["meta"]["total_count"],
        0
    );
    let own = beta
        .function(json!({"name": "f", "instructions": "mine", "model": "m"}))
        .await;
    let answer = beta.call(&own, json!({"parent_span_id": span})).await;
    assert_eq!(
        (answer.status.as_u16(), answer.body["detail"].as_str()),
        (404, Some("Parent span not found"))
    );
    let answer = beta.call(&own, json!({})).await;
    assert_eq!(
        (answer.status.as_u16(), answer.class()),
        (400, "BadRequestError"),
        "the name of alpha's model"
    );
    assert_eq!(alpha.get(&format!("/v2/functions/{id}")).await.status, 200);
}

#[tokio::test]
async fn a_token_made_or_revoked_beside_the_server_counts_within_five_seconds() {
    let server = Server::start();

    let made = server.command(&["token", "create", "--project", "alpha", "--label", "second"]);
    assert!(made.status.success(), "{made:?}");
    let token = String::from_utf8(made.stdout).unwrap();
    let api = server.api_with(token.trim());
    let seconds = seconds_until(|| async { api.get("/v2/functions").await.status == 200 }).await;
    assert!(seconds < 5.0, "{seconds}");

    let id = token.split('_').nth(1).unwrap();
    let revoked = server.command(&["token", "revoke", id]);
    assert!(revoked.status.success(), "{revoked:?}");
    let seconds = seconds_until(|| async { api.get("/v2/functions").await.status == 401 }).await;
    assert!(seconds < 5.0, "{seconds}");
}

async fn seconds_until<F: Future<Output = bool>>(mut holds: impl FnMut() -> F) -> f64 {
    let began = Instant::now();
    while !holds().await {
        assert!(began.elapsed() < Duration::from_secs(20), "it never held");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    began.elapsed().as_secs_f64()
}
