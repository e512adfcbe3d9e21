//! `/v2/models/custom`: `interface.md` section 5.

use serde_json::{Value, json};
use testkit::{Answer, Upstream};

use crate::server::Server;

fn path(model: &Value) -> String {
    format!("/v2/models/custom/{}", model["id"].as_str().unwrap())
}

#[tokio::test]
async fn a_registered_model_has_every_member_but_its_key() {
    let server = Server::start();
    let api = server.api();

    let plain = api
        .post(
            "/v2/models/custom",
            json!({"name": "m", "identifier": "OpenAI/gpt/x", "api_key": "sk-canary-1", "id": 3}),
        )
        .await;
    let full = api
        .post(
            "/v2/models/custom",
            json!({
                "name": "n", "identifier": "a/b", "provider": "Mine", "type": "embedding",
                "extra": {"b": 1.0, "a": {"x": [null]}}, "api_key": null,
            }),
        )
        .await;

    assert_eq!((plain.status.as_u16(), full.status.as_u16()), (200, 200));
    let expected = json!({"id": plain.body["id"], "name": "m", "identifier": "OpenAI/gpt/x", "provider": "openai", "type": "llm", "extra": {}});
    assert_eq!(plain.body.to_string(), expected.to_string());
    assert_eq!(
        (&full.body["provider"], &full.body["type"]),
        (&json!("Mine"), &json!("embedding"))
    );
    assert_eq!(
        full.body["extra"].to_string(),
        r#"{"b":1.0,"a":{"x":[null]}}"#
    );
    for model in [&plain, &full] {
        assert_eq!(api.get(&path(&model.body)).await.text, model.text);
    }
}

#[tokio::test]
async fn each_rule_of_a_registration_has_its_fault() {
    let server = Server::start();
    let api = server.api();
    let with = |member: &str, value: Value| {
        let mut body = json!({"name": "m", "identifier": "a/b"});
        body[member] = value;
        body
    };
    let longest = format!("a/{}", "å".repeat(253));
    let cases = [
        (
            json!({"identifier": "a/b"}),
            json!(["body", "name"]),
            "missing",
        ),
        (
            json!({"name": "m"}),
            json!(["body", "identifier"]),
            "missing",
        ),
        (
            with("name", json!("")),
            json!(["body", "name"]),
            "string_too_short",
        ),
        (
            with("name", json!("å".repeat(256))),
            json!(["body", "name"]),
            "string_too_long",
        ),
        (
            with("identifier", json!("")),
            json!(["body", "identifier"]),
            "string_too_short",
        ),
        (
            with("identifier", json!(format!("{longest}å"))),
            json!(["body", "identifier"]),
            "string_too_long",
        ),
        (
            with("identifier", json!("ab")),
            json!(["body", "identifier"]),
            "string_pattern_mismatch",
        ),
        (
            with("identifier", json!("/b")),
            json!(["body", "identifier"]),
            "string_pattern_mismatch",
        ),
        (
            with("identifier", json!("a/")),
            json!(["body", "identifier"]),
            "string_pattern_mismatch",
        ),
        (with("type", json!("chat")), json!(["body", "type"]), "enum"),
        (
            with("type", json!(1)),
            json!(["body", "type"]),
            "string_type",
        ),
        (
            with("extra", json!([])),
            json!(["body", "extra"]),
            "object_type",
        ),
        (
            with("extra", json!({"headers": {"a": "b\nc"}})),
            json!(["body", "extra", "headers", "a"]),
            "header_value",
        ),
        (
            with("api_key", json!("with space")),
            json!(["body", "api_key"]),
            "value_error",
        ),
        (
            with("api_key", json!(1)),
            json!(["body", "api_key"]),
            "string_type",
        ),
        (
            with("provider", json!("")),
            json!(["body", "provider"]),
            "string_too_short",
        ),
    ];

    for (body, place, slug) in cases {
        let answer = api.post("/v2/models/custom", body).await;
        assert_eq!(answer.fault(), (422, place, slug), "{answer:?}");
    }
    assert_eq!(
        api.get("/v2/models/custom").await.body["meta"]["total_count"],
        0
    );
    for body in [
        with("name", json!("å".repeat(255))),
        with("identifier", json!(longest)),
        with("extra", json!(null)),
    ] {
        let mut body = body;
        if body["name"] == "m" {
            body["name"] = json!(
                body["identifier"]
                    .as_str()
                    .unwrap()
                    .chars()
                    .take(200)
                    .collect::<String>()
            );
        }
        assert_eq!(api.post("/v2/models/custom", body).await.status, 200);
    }
}

#[tokio::test]
async fn a_taken_name_is_refused_and_an_identifier_may_be_shared() {
    let server = Server::start();
    let api = server.api();
    let body = |name: &str| json!({"name": name, "identifier": "a/b"});
    assert_eq!(api.post("/v2/models/custom", body("m")).await.status, 200);

    assert_eq!(
        api.post("/v2/models/custom", body("m")).await.class(),
        "ConflictError"
    );
    let other = api.post("/v2/models/custom", body("n")).await;
    assert_eq!(other.status, 200);
    assert_eq!(
        api.patch(&path(&other.body), json!({"name": "m"}))
            .await
            .status,
        409
    );
}

#[tokio::test]
async fn models_are_listed_by_name_and_found_by_it() {
    let server = Server::start();
    let api = server.api();
    for name in ["z", "a/b c", "m%"] {
        api.post(
            "/v2/models/custom",
            json!({"name": name, "identifier": "a/b"}),
        )
        .await;
    }

    let list = api.get("/v2/models/custom?offset=1&limit=1").await.body;
    assert_eq!(
        (&list["meta"], &list["data"][0]["name"]),
        (&json!({"total_count": 3}), &json!("m%"))
    );
    for form in ["a/b%20c", "a%2Fb%20c", "m%25", "z"] {
        assert_eq!(
            api.get(&format!("/v2/models/custom/by-name/{form}"))
                .await
                .status,
            200,
            "{form}"
        );
    }
    assert_eq!(
        api.get("/v2/models/custom/by-name/nothing").await.body["detail"],
        "Custom model not found"
    );
    assert_eq!(
        api.get("/v2/models/custom/nothing").await.fault(),
        (422, json!(["path", "model_id"]), "uuid_parsing")
    );
}

#[tokio::test]
async fn a_change_leaves_replaces_and_clears() {
    let server = Server::start();
    let api = server.api();
    let model = api
        .post(
            "/v2/models/custom",
            json!({"name": "m", "identifier": "a/b", "type": "image", "extra": {"x": 1, "y": 2}}),
        )
        .await
        .body;
    let path = path(&model);

    assert_eq!(api.patch(&path, json!({})).await.body, model);
    let changed = api
        .patch(
            &path,
            json!({"extra": {"z": 1.0}, "type": null, "identifier": "c/d", "name": null}),
        )
        .await
        .body;
    assert_eq!(
        changed,
        json!({"id": model["id"], "name": "m", "identifier": "c/d", "provider": "c", "type": "llm", "extra": {"z": 1.0}})
    );
    let changed = api
        .patch(&path, json!({"extra": null, "provider": "p"}))
        .await
        .body;
    assert_eq!(
        (&changed["extra"], &changed["provider"]),
        (&json!({}), &json!("p"))
    );
    assert_eq!(
        api.patch(&path, json!({"identifier": "e/f"})).await.body["provider"],
        "p"
    );
    assert_eq!(
        api.patch(&path, json!({"provider": null})).await.body["provider"],
        "e"
    );
    assert_eq!(api.delete(&path).await.status, 204);
    assert_eq!(
        (
            api.get(&path).await.status.as_u16(),
            api.delete(&path).await.status.as_u16()
        ),
        (404, 404)
    );
}

#[tokio::test]
async fn a_key_is_sealed_and_goes_to_its_own_host_alone() {
    let upstream = Upstream::start(Answer::text("hi")).await;
    let elsewhere = Upstream::start(Answer::text("hi")).await;
    let allow = format!(
        "[\"{}\", \"{}\"]",
        upstream.authority(),
        elsewhere.authority()
    );
    let server = Server::start_with(&[
        ("GATEWRIGHT_EGRESS__ALLOW", &allow),
        ("OPENAI_API_KEY", "sk-of-the-operator"),
        (
            "GATEWRIGHT_PROVIDERS__HOUSE__API_BASE",
            &upstream.base_url(),
        ),
        (
            "GATEWRIGHT_PROVIDERS__SHED__API_BASE",
            &elsewhere.base_url(),
        ),
    ]);
    let api = server.api();
    let model = api.model("mine", &upstream.base_url()).await;
    let function = api
        .function(json!({"name": "f", "instructions": "x", "model": "mine"}))
        .await;

    assert_eq!(api.call(&function, json!({})).await.status, 200);
    assert_eq!(
        upstream.requests()[0].header("authorization"),
        Some("Bearer sk-of-the-custom-model")
    );

    api.patch(
        &path(&model),
        json!({"extra": {"api_base": elsewhere.base_url()}}),
    )
    .await;
    assert_eq!(api.call(&function, json!({})).await.status, 200);
    assert_eq!(
        elsewhere.requests()[0].header("authorization"),
        None,
        "neither the old key nor the operator's"
    );

    let tricks = [
        json!({"name": "one-slash", "identifier": "openai/x", "api_key": "sk-of-one-slash", "extra": {"api_base": upstream.base_url().replace("//", "/")}}),
        json!({"name": "provider", "identifier": "house/x", "api_key": "sk-of-provider"}),
    ];
    let changes = [
        json!({"extra": {"api_base": elsewhere.base_url().replace("//", "/")}}),
        json!({"identifier": "shed/x"}),
    ];
    for (model, change) in tricks.into_iter().zip(changes) {
        let model = api.post("/v2/models/custom", model).await.body;
        api.patch(&path(&model), change).await;
        let function = api
            .function(json!({"name": model["name"], "instructions": "x", "model": model["name"]}))
            .await;
        assert_eq!(api.call(&function, json!({})).await.status, 200, "{model}");
        assert_eq!(
            elsewhere.requests().last().unwrap().header("authorization"),
            None,
            "{model}"
        );
    }

    let files = std::fs::read_dir(server.dir.path().join("data")).unwrap();
    for file in files
        .map(|file| file.unwrap().path())
        .filter(|path| path.is_file())
    {
        let bytes = std::fs::read(&file).unwrap();
        let clear = bytes
            .windows(22)
            .any(|window| window == b"sk-of-the-custom-model");
        assert!(!clear, "{} holds the key in clear", file.display());
    }
}

#[tokio::test]
async fn a_model_is_resolved_by_name_then_by_its_newest_identifier_then_by_host() {
    let upstreams = [
        Upstream::start(Answer::text("one")).await,
        Upstream::start(Answer::text("two")).await,
    ];
    let operator = Upstream::start(Answer::text("operator")).await;
    let allow = format!(
        "[\"{}\", \"{}\"]",
        upstreams[0].authority(),
        upstreams[1].authority()
    );
    let server = Server::start_with(&[
        ("GATEWRIGHT_EGRESS__ALLOW", &allow),
        (
            "GATEWRIGHT_PROVIDERS__HOUSE__API_BASE",
            &operator.base_url(),
        ),
    ]);
    let api = server.api();
    let function = api
        .function(json!({"name": "f", "instructions": "x", "model": "house/tiny"}))
        .await;
    let says = async || api.call(&function, json!({})).await.body["message"].clone();

    assert_eq!(says().await, "operator");
    assert_eq!(operator.requests()[0].json()["model"], "tiny");
    for (name, upstream) in [("first", &upstreams[0]), ("second", &upstreams[1])] {
        let body = json!({"name": name, "identifier": "house/tiny", "extra": {"api_base": upstream.base_url()}});
        api.post("/v2/models/custom", body).await;
    }
    assert_eq!(says().await, "two", "the newest registration wins");
    let body = json!({"name": "house/tiny", "identifier": "x/y/z", "extra": {"api_base": upstreams[0].base_url()}});
    api.post("/v2/models/custom", body).await;
    assert_eq!(says().await, "one", "a name wins over an identifier");
    assert_eq!(upstreams[0].requests()[0].json()["model"], "y/z");
}

#[tokio::test]
async fn what_cannot_be_called_is_said_at_the_call() {
    let server = Server::start();
    let api = server.api();
    let cases = [
        (
            json!({"name": "no-address", "identifier": "nobody/x"}),
            "extra.api_base",
        ),
        (
            json!({"name": "private", "identifier": "openai/x", "extra": {"api_base": "http://127.0.0.1:9/v1"}}),
            "not allowed",
        ),
        (
            json!({"name": "images", "identifier": "openai/x", "type": "image"}),
            "type",
        ),
        (
            json!({"name": "bad-extra", "identifier": "openai/x", "extra": {"timeout_seconds": "soon"}}),
            "extra",
        ),
        (
            json!({"name": "bad-protocol", "identifier": "openai/x", "extra": {"protocol": "smoke", "api_base": "https://example.com/v1"}}),
            "smoke",
        ),
        (
            json!({"name": "bad-url", "identifier": "openai/x", "extra": {"api_base": "not a url"}}),
            "",
        ),
    ];

    for (model, word) in cases {
        let name = model["name"].clone();
        assert_eq!(api.post("/v2/models/custom", model).await.status, 200);
        let function = api
            .function(json!({"name": name, "instructions": "x", "model": name}))
            .await;

        let answer = api.call(&function, json!({})).await;

        assert_eq!(
            (answer.status.as_u16(), answer.class()),
            (400, "BadRequestError"),
            "{answer:?}"
        );
        let reason = answer.body["detail"]["reason"].as_str().unwrap();
        assert!(reason.contains(word), "{reason}");
        assert_eq!(
            api.span(&answer).await["error"],
            format!("BadRequestError: {reason}")
        );
    }
}
