//! `/v2/models/custom`: `interface.md` section 5.

use serde_json::{Value, json};
use testkit::{Answer, Script, Upstream};

use crate::server::{Answer as Answered, Server};

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
            "`127.0.0.1:9` is not allowed",
        ),
        (
            json!({"name": "vectors", "identifier": "openai/x", "type": "embedding"}),
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

#[tokio::test]
async fn a_registration_that_cannot_be_used_is_kept_with_a_warning() {
    let server = Server::start();
    let api = server.api();
    let cases = [
        (
            json!({"name": "a", "identifier": "openai/m", "extra": {"protocol": "morse"}}),
            "unknown protocol `morse`",
        ),
        (
            json!({"name": "b", "identifier": "nobody/m"}),
            "set `extra.api_base`",
        ),
        (
            json!({"name": "c", "identifier": "openai/m", "extra": {"timeout_seconds": "soon"}}),
            "`extra.timeout_seconds` has the wrong type",
        ),
        (
            json!({"name": "e", "identifier": "openai/m", "extra": {"timeout_seconds": -1}}),
            "`extra.timeout_seconds` has the wrong value",
        ),
        (
            json!({"name": "f", "identifier": "openai/m", "extra": {"max_tokens": "x"}}),
            "`extra.max_tokens` has the wrong type",
        ),
        (
            json!({"name": "g", "identifier": "openai/m", "extra": {"input_cost_per_token": -1}}),
            "`extra.input_cost_per_token` has the wrong value",
        ),
        (
            json!({"name": "h", "identifier": "openai/m", "extra": {"output_cost_per_token": 1e12}}),
            "`extra.output_cost_per_token` has the wrong value",
        ),
        (
            json!({"name": "i", "identifier": "azure/m", "extra": {"api_version": [1]}}),
            "`extra.api_version` has the wrong type",
        ),
        (
            json!({"name": "j", "identifier": "openai/m", "extra": {"ocr": "yes"}}),
            "`extra.ocr` has the wrong type",
        ),
        (
            json!({"name": "k", "identifier": "openai/m", "extra": {"headers": {"a": 5}}}),
            "`extra.headers.a` has the wrong type",
        ),
        (
            json!({"name": "l", "identifier": "vllm/any"}),
            "the address `localhost:8000` is not allowed",
        ),
        (
            json!({"name": "m", "identifier": "openai/m", "extra": {"api_base": "https://10.0.0.7/v1"}}),
            "the address `10.0.0.7:443` is not allowed",
        ),
        (
            json!({"name": "n", "identifier": "openai/m", "api_key": "k", "extra": {"region": "eu"}}),
            "`extra.region` has no effect",
        ),
        (
            json!({"name": "o", "identifier": "cohere/m", "api_key": "k", "extra": {"region": "eu"}}),
            "`extra.region` has no effect",
        ),
    ];

    for (body, expected) in cases {
        let name = body["name"].clone();
        let registered = api.post("/v2/models/custom", body).await;
        let function = json!({"name": name, "instructions": "x", "model": name});
        let function = api.function(function).await;
        let called = api.call(&function, json!({})).await;

        assert_eq!(registered.status.as_u16(), 200);
        assert!(
            warning(&registered).unwrap().contains(expected),
            "{registered:?}"
        );
        assert_eq!(called.class(), "BadRequestError");
        let reason = called.body["detail"]["reason"].as_str().unwrap();
        assert!(reason.contains(expected), "{reason}");
    }
    let fine = json!({"name": "d", "identifier": "openai/m", "extra": {"api_base": "https://example.com/v1"}});
    let fine = api.post("/v2/models/custom", fine).await;
    assert_eq!(warning(&fine), None);
}

#[tokio::test]
async fn what_is_left_out_of_every_call_is_said_at_the_registration() {
    let (server, upstream) = Server::with_upstream(Answer::text("hi")).await;
    let api = server.api();
    let extra = json!({
        "api_base": upstream.base_url(), "region": 5, "max_tokens": 9.0,
        "headers": {"authorization": "Bearer canary", "x-mine": "1"},
    });
    let body = json!({"name": "mine", "identifier": "openai/m", "extra": extra});

    let registered = api.post("/v2/models/custom", body).await;
    let function = json!({"name": "f", "instructions": "x", "model": "mine"});
    let called = api.call(&api.function(function).await, json!({})).await;

    let said = "the header `authorization` was left out: it is the gateway's to set";
    assert_eq!(warning(&registered).unwrap(), said);
    assert_eq!(registered.body["extra"], extra);
    assert_eq!(called.status.as_u16(), 200);
    assert_eq!(api.span(&called).await["meta"]["warnings"], json!([said]));
    let sent = &upstream.requests()[0];
    assert_eq!(sent.headers.get("x-mine").unwrap(), "1");
    assert!(!heard(&upstream, 0).contains("canary"));
    assert_eq!(sent.json()["max_tokens"], json!(9));
}

#[tokio::test]
async fn a_warning_reads_as_plain_text() {
    let server = Server::start();
    let extra = json!({"protocol": "\"morse\" it's é\n"});
    let body = json!({"name": "m", "identifier": "openai/m", "extra": extra});

    let registered = server.api().post("/v2/models/custom", body).await;

    let said = warning(&registered).unwrap();
    assert!(
        said.contains(r#"unknown protocol `"morse" it's \u{e9}\n`"#),
        "{said}"
    );
}

#[tokio::test]
async fn a_project_may_use_what_the_operator_lists_and_what_it_pays_for_itself() {
    let upstream = Upstream::start(Answer::text("hi")).await;
    let server = Server::start_with(&[
        (
            "GATEWRIGHT_EGRESS__ALLOW",
            &format!("[\"{}\"]", upstream.authority()),
        ),
        ("GATEWRIGHT_PROVIDERS__LAB__API_BASE", &upstream.base_url()),
        (
            "GATEWRIGHT_PROJECTS__ALPHA__MODELS",
            "[\"lab/small*\", \"offline/echo\"]",
        ),
    ]);
    let api = server.api();
    let mine = json!({"name": "mine", "identifier": "lab/big"});
    let mine = api.post("/v2/models/custom", mine).await;
    let warning = mine.headers["x-gatewright-warning"].to_str().unwrap();
    assert!(warning.contains("`projects.alpha.models`"), "{warning}");
    let paid = json!({"name": "paid", "identifier": "lab/huge", "api_key": "k", "extra": {"api_base": upstream.base_url()}});
    api.post("/v2/models/custom", paid).await;
    let ask = async |api: &crate::server::Api, model: Value| {
        let name = format!(
            "f-{}",
            model
                .to_string()
                .replace(|c: char| !c.is_ascii_alphanumeric(), "-")
        );
        let function = json!({"name": format!("{name}x"), "instructions": "x", "model": model});
        let function = api.function(function).await;
        api.call(&function, json!({})).await
    };

    for model in [
        json!("lab/small-1"),
        json!("offline/echo"),
        json!("paid"),
        json!(["lab/big", "lab/small"]),
    ] {
        assert_eq!(
            ask(&api, model.clone()).await.status.as_u16(),
            200,
            "{model}"
        );
    }
    for model in [json!("lab/big"), json!("mine"), json!("offline/json")] {
        let refused = ask(&api, model).await;
        assert_eq!(refused.class(), "BadRequestError");
        let reason = refused.body["detail"]["reason"].as_str().unwrap();
        assert!(reason.contains("`projects.alpha.models`"), "{reason}");
    }
    let other = server.api_with(crate::server::BETA);
    assert_eq!(ask(&other, json!("lab/big")).await.status.as_u16(), 200);
}

#[tokio::test]
async fn no_dialect_has_a_host_ask_other_models() {
    let upstream = Upstream::start(Answer::text("hi")).await;
    let server = Server::start_with(&[
        (
            "GATEWRIGHT_PROVIDERS__OPENROUTER__API_BASE",
            &upstream.base_url(),
        ),
        ("OPENROUTER_API_KEY", "k"),
        ("GATEWRIGHT_PROJECTS__ALPHA__MODELS", "[\"openrouter/a/b\"]"),
    ]);
    let api = server.api();
    for protocol in ["openai", "anthropic", "mistral", "ollama"] {
        let extra = json!({"protocol": protocol});
        let model = json!({"name": protocol, "identifier": "openrouter/a/b", "extra": extra});
        let registered = api.post("/v2/models/custom", model).await;
        assert_eq!(registered.status, 200, "{registered:?}");
        let model = json!({"name": protocol, "options": {"models": ["c/d"]}});
        let body = json!({"model": model, "messages": [{"role": "user", "content": "x"}]});

        let refused = api.post("/v2/openai/chat/completions", body).await;

        assert_eq!(refused.status, 400, "{protocol}: {refused:?}");
        let is_told = refused.text.contains("`models`") && refused.text.contains("other models");
        assert!(is_told, "{protocol}: {}", refused.text);
    }
    assert_eq!(upstream.requests().len(), 0);
}

#[tokio::test]
async fn a_refused_key_gives_way_to_another_one() {
    let script = Script::by(|request| {
        let key = request.headers.get("authorization").unwrap();
        if key == "Bearer good-key-2" {
            Answer::text("hi")
        } else {
            Answer::error(401, "bad key")
        }
    });
    let upstream = Upstream::start(script).await;
    let server = Server::start_with(&[
        ("GATEWRIGHT_PROVIDERS__LAB__API_BASE", &upstream.base_url()),
        (
            "GATEWRIGHT_PROVIDERS__LAB__KEYS",
            "[{ env = \"ONE\", weight = 9 }, { env = \"TWO\" }]",
        ),
        ("ONE", "bad-key-1"),
        ("TWO", "good-key-2"),
    ]);
    let api = server.api();
    let function = json!({"name": "f", "instructions": "x", "model": "lab/m"});
    let function = api.function(function).await;

    let first = api.call(&function, json!({})).await;
    let second = api.call(&function, json!({})).await;

    assert_eq!((first.status.as_u16(), second.status.as_u16()), (200, 200));
    // The bad key was tried once, and rests.
    assert_eq!(upstream.requests().len(), 3);
    let meta = api.span(&first).await["meta"].clone();
    assert_eq!(
        (&meta["attempts"], &meta["model"]),
        (&json!(2), &json!("lab/m"))
    );
    let tried = meta["models_tried"].as_array().unwrap();
    let told = ["status", "class", "upstream_status", "reason", "model"].map(|it| &tried[0][it]);
    let refused = json!(["unavailable", "auth", 401, "provider_auth", "lab/m"]);
    assert_eq!(json!(told), refused);
    assert_eq!(tried[0]["usage"]["total_tokens"], json!(0));
    assert_eq!(tried[1]["status"], json!("answered"));
    assert!(!meta.to_string().contains("bad-key"));
    assert_eq!(api.span(&second).await["meta"]["attempts"], json!(1));
}

#[tokio::test]
async fn a_refused_key_is_in_the_span_of_a_stream_and_of_an_embedding_too() {
    let script = Script::by(|request| {
        if request.headers.get("authorization").unwrap() == "Bearer bad-key-1" {
            Answer::error(429, "slow down")
        } else if request.path.ends_with("/embeddings") {
            Answer::embeddings(vec![vec![0.5, 0.5]])
        } else {
            Answer::text("hi")
        }
    });
    let upstream = Upstream::start(script).await;
    for path in ["stream", "embeddings"] {
        let server = Server::start_with(&[
            ("GATEWRIGHT_PROVIDERS__LAB__API_BASE", &upstream.base_url()),
            (
                "GATEWRIGHT_PROVIDERS__LAB__KEYS",
                "[{ env = \"ONE\", weight = 9 }, { env = \"TWO\" }]",
            ),
            ("ONE", "bad-key-1"),
            ("TWO", "good-key-2"),
        ]);
        let api = server.api();
        let span = if path == "stream" {
            let function = json!({"name": "f", "instructions": "x", "model": "lab/m"});
            let function = api.function(function).await;
            let streamed = api.stream_of(&function, &json!({})).await;
            api.span_of(&streamed).await
        } else {
            let body = json!({"model": "lab/m", "input": "x"});
            api.span(&api.post("/v2/embeddings", body).await).await
        };
        let meta = &span["meta"];
        let tried = meta["models_tried"].as_array().unwrap();
        let statuses: Vec<_> = tried
            .iter()
            .map(|it| (&it["status"], &it["class"]))
            .collect();
        let expected = [
            (&json!("unavailable"), &json!("rate_limit")),
            (&json!("answered"), &Value::Null),
        ];
        assert_eq!(statuses, expected, "{path}");
        assert_eq!(meta["attempts"], json!(2), "{path}");
    }
}

#[tokio::test]
async fn a_model_of_images_answers_with_images_alone() {
    let made = json!({"created": 1, "data": [{"url": "https://h/1.png"}, {"b64_json": "aGk="}]});
    let (server, upstream) = Server::with_upstream(Answer::body(200, &made)).await;
    let api = server.api();
    let model = json!({
        "name": "painter", "identifier": "openai/paint-1", "type": "image",
        "extra": {"api_base": upstream.base_url(), "cost_per_image": 0.04},
    });
    api.post("/v2/models/custom", model).await;
    let model = json!({"name": "painter", "options": {"size": "64x64"}});
    let function = json!({"name": "paint", "instructions": "A picture of:", "model": model});
    let function = api.function(function).await;

    let called = api.call(&function, json!({"input": "a cat"})).await;

    assert_eq!(called.status.as_u16(), 200, "{}", called.text);
    assert_eq!(called.body["images"], json!(["https://h/1.png", "aGk="]));
    assert_eq!(called.body["message"], Value::Null);
    assert_eq!(called.body["json_payload"], Value::Null);
    assert_eq!(called.body["cost"]["total"], json!(0.08));
    assert_eq!(api.span(&called).await["output"], called.body["images"]);
    let sent = &upstream.requests()[0];
    assert_eq!(sent.path, "/v1/images/generations");
    let expected = json!({"model": "paint-1", "prompt": "A picture of:\n\na cat", "size": "64x64"});
    assert_eq!(sent.json(), expected);
}

fn warning(answer: &Answered) -> Option<String> {
    let warning = answer.headers.get("x-gatewright-warning");
    warning.map(|warning| warning.to_str().unwrap().to_owned())
}

/// Everything that was said to an upstream after so many requests, heads and bodies.
fn heard(upstream: &Upstream, after: usize) -> String {
    let requests = upstream.requests();
    let heard = requests.iter().skip(after);
    let heard =
        heard.map(|request| format!("{request:?} {}", String::from_utf8_lossy(&request.body)));
    heard.collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn no_change_of_a_setting_takes_a_key_to_another_host() {
    let home = Upstream::start(Answer::text("hi")).await;
    let elsewhere = Upstream::start(Answer::text("hi")).await;
    let port = |upstream: &Upstream| upstream.authority().rsplit_once(':').unwrap().1.to_owned();
    let template = format!("http://{{resource}}:{}", port(&home));
    let server = Server::start_with(&[
        (
            "GATEWRIGHT_EGRESS__ALLOW",
            &format!("[\"{}\", \"{}\"]", home.authority(), elsewhere.authority()),
        ),
        ("GATEWRIGHT_PROVIDERS__AZURE__API_BASE", &template),
        ("GATEWRIGHT_PROVIDERS__AZURE__RESOURCE", "localhost"),
    ]);
    let api = server.api();
    let token =
        json!({"tenant_id": "t", "client_id": "c", "client_secret": "sk-canary"}).to_string();
    let at_home = format!("http://{}", home.authority());
    let its_tokens = format!("http://{}/token", home.authority());
    let their_tokens = format!("http://{}/token", elsewhere.authority());
    let places = "http://127.0.0.1:{port}/v1";
    let cases = [
        (
            json!({"identifier": "azure/m", "api_key": "sk-canary", "extra": {"resource": "localhost"}}),
            json!({"extra": {"resource": "2130706433"}}),
        ),
        (
            json!({"identifier": "openai/m", "api_key": "sk-canary", "extra": {"api_base": places, "port": port(&home)}}),
            json!({"extra": {"api_base": places, "port": port(&elsewhere)}}),
        ),
        (
            json!({"identifier": "openai/m", "api_key": "sk-canary", "extra": {"api_base": places}}),
            json!({"extra": {"api_base": places, "port": port(&elsewhere)}}),
        ),
        (
            json!({"identifier": "azure/m", "api_key": token, "extra": {"api_base": at_home, "token_url": its_tokens}}),
            json!({"extra": {"api_base": at_home, "token_url": their_tokens}}),
        ),
        (
            json!({"identifier": "azure/m", "api_key": token, "extra": {"api_base": at_home, "token_url": its_tokens}}),
            json!({"extra": {"api_base": at_home, "token_url": its_tokens, "protocol": "openai"}}),
        ),
        (
            json!({"identifier": "azure/m", "api_key": token, "extra": {"api_base": at_home, "token_url": its_tokens}}),
            json!({"identifier": "openai/m"}),
        ),
    ];

    let mut leaks = Vec::new();
    for (index, (mut model, change)) in cases.into_iter().enumerate() {
        let name = format!("m{index}");
        let before = (home.requests().len(), elsewhere.requests().len());
        model["name"] = json!(name);
        let model = api.post("/v2/models/custom", model).await.body;
        let changed = api.patch(&path(&model), change.clone()).await;
        let function = json!({"name": name, "instructions": "x", "model": name});
        api.call(&api.function(function).await, json!({})).await;

        let said = [heard(&home, before.0), heard(&elsewhere, before.1)].concat();
        let is_told = warning(&changed).is_some_and(|it| it.contains("its key was dropped"));
        if said.contains("canary") || !is_told {
            leaks.push(format!("{change}: told {is_told}, sent {said}"));
        }
    }
    assert!(leaks.is_empty(), "{leaks:#?}");
    assert!(!elsewhere.requests().is_empty() && !home.requests().is_empty());
}

#[tokio::test]
async fn neither_a_call_nor_an_alias_takes_a_key_along() {
    let home = Upstream::start(Answer::text("hi")).await;
    let elsewhere = Upstream::start(Answer::text("hi")).await;
    let allow = [home.authority(), elsewhere.authority()];
    let server = Server::start_with(&[
        ("GATEWRIGHT_EGRESS__ALLOW", &format!("{allow:?}")),
        (
            "GATEWRIGHT_PROVIDERS__HOUSE__API_BASE",
            &elsewhere.base_url(),
        ),
    ]);
    let api = server.api();
    let steering = json!({
        "api_base": elsewhere.base_url(), "base_url": elsewhere.base_url(), "token_url": elsewhere.base_url(),
        "resource": "evil", "api_key": "k", "headers": {"host": elsewhere.authority()}, "extra": {"api_base": elsewhere.base_url()},
    });
    api.model("mine", &home.base_url()).await;
    let alias = json!({"name": "best", "fallback_models": ["mine"]});
    let alias = api.post("/v2/models/aliases", alias).await.body;
    let ask = async |name: &str, model: Value| {
        let function = json!({"name": name, "instructions": "x", "model": model});
        api.call(&api.function(function).await, json!({})).await
    };

    let steered = ask("a", json!({"name": "best", "options": steering})).await;
    let alias = format!("/v2/models/aliases/{}", alias["id"].as_str().unwrap());
    api.patch(&alias, json!({"fallback_models": ["house/x"]}))
        .await;
    let moved = ask("b", json!("best")).await;

    assert_eq!((steered.status.as_u16(), moved.status.as_u16()), (200, 200));
    let key = home.requests()[0]
        .header("authorization")
        .map(str::to_owned);
    assert_eq!(key.as_deref(), Some("Bearer sk-of-the-custom-model"));
    assert_eq!(elsewhere.requests().len(), 1);
    assert!(!heard(&elsewhere, 0).contains("sk-of-the-custom-model"));
}

#[tokio::test]
async fn a_change_that_leads_nowhere_else_keeps_the_key() {
    let home = Upstream::start(Answer::text("hi")).await;
    let server = Server::start_with(&[(
        "GATEWRIGHT_EGRESS__ALLOW",
        &format!("[\"{}\"]", home.authority()),
    )]);
    let api = server.api();
    let model = api.model("mine", &home.base_url()).await;
    let function = json!({"name": "f", "instructions": "x", "model": "mine"});
    let function = api.function(function).await;

    for extra in [
        json!({"api_base": home.base_url(), "timeout_seconds": 9}),
        json!({"api_base": home.base_url(), "timeout_seconds": "soon"}),
        json!({"api_base": format!("{}/", home.base_url()), "region": "here"}),
        json!({"api_base": home.base_url(), "protocol": "mistral"}),
    ] {
        let changed = api.patch(&path(&model), json!({"extra": extra})).await;
        let warning = warning(&changed).unwrap_or_default();
        assert!(!warning.contains("key"), "{warning}");
    }
    let renamed = json!({"identifier": "groq/other", "type": "llm"});
    assert_eq!(warning(&api.patch(&path(&model), renamed).await), None);
    assert_eq!(api.call(&function, json!({})).await.status, 200);
    assert_eq!(
        home.requests()[0].header("authorization"),
        Some("Bearer sk-of-the-custom-model")
    );
}

#[tokio::test]
async fn the_operators_key_is_lent_for_the_model_of_the_identifier_alone() {
    let upstream = Upstream::start(Answer::text("hi")).await;
    let at_home = format!("http://{}", upstream.authority());
    let server = Server::start_with(&[
        ("GATEWRIGHT_PROVIDERS__AZURE__API_BASE", &at_home),
        ("AZURE_OPENAI_API_KEY", "sk-of-the-operator"),
        ("GATEWRIGHT_PROVIDERS__VERTEX__API_BASE", &at_home),
        ("GATEWRIGHT_PROVIDERS__VERTEX__REGION", "global"),
        ("GATEWRIGHT_PROVIDERS__VERTEX__PROJECT", "the-operators"),
        ("VERTEX_CREDENTIALS", "ya29.of-the-operator"),
        (
            "GATEWRIGHT_PROJECTS__ALPHA__MODELS",
            "[\"azure/small\", \"vertex/*\"]",
        ),
    ]);
    let api = server.api();
    let cases = [
        (
            json!({"name": "big", "identifier": "azure/small", "extra": {"deployment": "big"}}),
            "`extra.deployment`",
        ),
        (
            json!({"name": "theirs", "identifier": "vertex/small", "extra": {"project": "theirs"}}),
            "`extra.project`",
        ),
        (
            json!({"name": "other", "identifier": "azure/small", "extra": {"resource": "other"}}),
            "`extra.resource`",
        ),
    ];

    for (model, word) in cases {
        let name = model["name"].clone();
        let registered = api.post("/v2/models/custom", model).await;
        let function = json!({"name": name, "instructions": "x", "model": name});
        let called = api.call(&api.function(function).await, json!({})).await;

        assert_eq!(registered.status, 200);
        let warned = warning(&registered).unwrap();
        assert!(warned.contains(word), "{warned}");
        assert_eq!(called.class(), "BadRequestError");
        let reason = called.body["detail"]["reason"].as_str().unwrap();
        assert!(reason.contains(word), "{reason}");
    }
    assert!(upstream.requests().is_empty());
    let own = json!({"name": "own", "identifier": "azure/small", "api_key": "mine", "extra": {"deployment": "big"}});
    assert_eq!(warning(&api.post("/v2/models/custom", own).await), None);
    let function = json!({"name": "own", "instructions": "x", "model": "own"});
    let called = api.call(&api.function(function).await, json!({})).await;
    assert_eq!(called.status, 200, "{called:?}");
    let sent = &upstream.requests()[0];
    assert_eq!(
        (sent.header("api-key"), &sent.json()["model"]),
        (Some("mine"), &json!("big"))
    );
}

#[tokio::test]
async fn a_key_goes_to_the_resource_that_its_model_names_and_not_to_the_operators_address() {
    let upstream = Upstream::start(Answer::text("hi")).await;
    let at_home = format!("http://{}/azu", upstream.authority());
    let server = Server::start_with(&[
        ("GATEWRIGHT_PROVIDERS__AZURE__API_BASE", &at_home),
        ("GATEWRIGHT_PROVIDERS__BEDROCK__API_BASE", &at_home),
    ]);
    let api = server.api();

    for (identifier, extra) in [
        (
            "azure/m",
            json!({"resource": "no-such-resource", "timeout_seconds": 2}),
        ),
        (
            "bedrock/m",
            json!({"region": "no-such-region", "timeout_seconds": 2}),
        ),
    ] {
        let model = json!({"name": identifier, "identifier": identifier, "api_key": "canary", "extra": extra});
        let registered = api.post("/v2/models/custom", model).await;
        let function = json!({"name": identifier, "instructions": "x", "model": identifier});
        let called = api.call(&api.function(function).await, json!({})).await;

        assert_eq!(warning(&registered), None);
        assert_eq!(called.class(), "UpstreamError", "{called:?}");
    }
    assert_eq!(heard(&upstream, 0), "");
}

#[tokio::test]
async fn lists_of_models_are_read_in_any_case_and_say_what_they_leave_out() {
    let server = Server::start_with(&[
        ("GATEWRIGHT_PROJECTS__ALPHA__MODELS", "[\"Offline/ECHO\"]"),
        ("GATEWRIGHT_PROJECTS__BETA__MODELS", "[\"offline/*\"]"),
        ("GATEWRIGHT_PROJECTS__GAMMA__MODELS", "[\"*\"]"),
        ("GATEWRIGHT_OBSERVER__JUDGE", "offline/json"),
    ]);
    let api = server.api();
    let function = json!({"name": "f", "instructions": "x", "model": "offline/echo"});
    let function = api.function(function).await;

    let called = api.call(&function, json!({"input": "hi"})).await;

    assert_eq!(called.status, 200, "{called:?}");
    let warnings = server.logged("WARN");
    let said: Vec<(&str, &str)> = warnings
        .iter()
        .filter_map(|line| {
            let message = line["message"]
                .as_str()
                .or(line["fields"]["message"].as_str())?;
            let (key, _) = message.strip_prefix('`')?.split_once('`')?;
            let project = line["project.name"]
                .as_str()
                .or(line["fields"]["project.name"].as_str())?;
            Some((project, key))
        })
        .collect();
    assert_eq!(
        said,
        [
            ("alpha", "projects.alpha.models"),
            ("gamma", "projects.gamma")
        ],
        "{warnings:?}"
    );
}

#[tokio::test]
async fn images_that_nobody_counted_cost_what_is_billed_by_the_image_exactly() {
    let made = json!({"created": 1, "data": [{"url": "https://h/1.png"}, {"b64_json": "aGk="}]});
    let upstream = Upstream::start(Answer::body(200, &made)).await;
    let server = Server::start_with(&[(
        "GATEWRIGHT_EGRESS__ALLOW",
        &format!("[\"{}\"]", upstream.authority()),
    )]);
    let api = server.api();
    let cost = async |name: &str, mut extra: Value| {
        extra["api_base"] = json!(upstream.base_url());
        let model =
            json!({"name": name, "identifier": "openai/paint-1", "type": "image", "extra": extra});
        api.post("/v2/models/custom", model).await;
        let function = json!({"name": name, "instructions": "A cat", "model": name});
        let function = api.function(function).await;
        let called = api.call(&function, json!({})).await;
        let meta = api.span(&called).await["meta"].clone();
        let kinds = meta["models_tried"][0]["usage_kinds"].clone();
        (
            meta["cost"]["generation"].clone(),
            meta["cost_status"].clone(),
            kinds,
        )
    };

    let by_image = cost("a", json!({"cost_per_image": 0.04})).await;
    let by_token = cost("b", json!({"output_cost_per_token": 0.1})).await;
    let both = cost(
        "c",
        json!({"cost_per_image": 0.04, "output_cost_per_token": 0.1}),
    )
    .await;
    let unknown = cost("d", json!({})).await;

    let images = json!({"images": 2});
    let told = |cost: f64, status: &str| (json!(cost), json!(status), images.clone());
    assert_eq!(by_image, told(0.08, "exact"));
    assert_eq!(by_token, told(0.0, "estimated"));
    assert_eq!(both, told(0.08, "estimated"));
    assert_eq!(unknown, told(0.0, "unknown"));
}

#[tokio::test]
async fn a_model_of_images_is_told_instructions_and_input_and_given_its_media() {
    let made = json!({"created": 1, "data": [{"url": "https://h/1.png"}]});
    let upstream = Upstream::start(Answer::body(200, &made)).await;
    let server = Server::start_with(&[(
        "GATEWRIGHT_EGRESS__ALLOW",
        &format!("[\"{}\"]", upstream.authority()),
    )]);
    let api = server.api();
    let model = json!({
        "name": "painter", "identifier": "openai/paint-1", "type": "image", "extra": {"api_base": upstream.base_url()},
    });
    api.post("/v2/models/custom", model).await;
    let paint = async |more: Value| {
        let mut body = json!({"name": "paint", "instructions": "A red fox", "model": "painter"});
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        api.post("/v2/call", body).await
    };
    let png = "data:image/png;base64,UE5H";
    let wav = "data:audio/wav;base64,UklGRg==";

    let alone = paint(json!({})).await;
    let examples = json!([{"input": "q", "output": "a"}]);
    let schema = json!({"type": "object"});
    let demanded =
        paint(json!({"input": "x", "examples": examples, "output_schema": schema})).await;
    let edited = paint(json!({"input": {"p": "hat", "_image_media_input": png}})).await;
    let of_sound = paint(json!({"input": {"_audio_media_input": wav}})).await;

    let asked = upstream.requests();
    assert_eq!(asked.len(), 3);
    assert_eq!(asked[0].json()["prompt"], "A red fox");
    assert_eq!(asked[1].json()["prompt"], "A red fox\n\nx");
    assert_eq!(asked[2].path, "/v1/images/edits");
    let form = String::from_utf8_lossy(&asked[2].body);
    for part in [
        "name=\"prompt\"\r\n\r\nA red fox\n\n{\"p\":\"hat\"}\r\n",
        "name=\"image\"; filename=\"image-0.png\"\r\ncontent-type: image/png\r\n\r\nPNG\r\n",
    ] {
        assert!(form.contains(part), "{form}");
    }
    for answer in [alone, demanded, edited] {
        let expected = json!([200, ["https://h/1.png"], null]);
        let found = json!([
            answer.status.as_u16(),
            answer.body["images"],
            answer.body["json_payload"]
        ]);
        assert_eq!(found, expected, "{answer:?}");
    }
    assert_eq!(of_sound.class(), "BadRequestError");
    assert_eq!(
        of_sound.body["detail"]["reason"],
        "sound (`data:audio/wav;base64`) cannot be sent to the model `painter`: it makes images, and takes nothing of \
         that kind beside the text"
    );
}

fn names(page: &Value) -> Vec<&str> {
    let items = page["data"].as_array().unwrap();
    items
        .iter()
        .map(|item| item["name"].as_str().unwrap())
        .collect()
}

#[tokio::test]
async fn all_models_are_listed_custom_ones_first() {
    let server = Server::start_with(&[("OPENAI_API_KEY", "sk-x"), ("MISTRAL_API_KEY", "x")]);
    let api = server.api();
    for body in [
        json!({"name": "zeta", "identifier": "openai/gpt-4o-2099-01-01"}),
        json!({"name": "alpha", "identifier": "any/thing", "extra": {"api_base": "https://api.example/v1", "input_cost_per_token": 1e-6}}),
        json!({"name": "beta", "identifier": "openai/gpt-4o", "extra": {"api_base": "https://api.example/v1", "region": "here"}}),
    ] {
        assert_eq!(api.post("/v2/models/custom", body).await.status, 200);
    }

    let first = api.get("/v2/models?limit=4").await.body;
    let all = first["meta"]["total_count"].as_u64().unwrap();
    assert_eq!(
        first["data"],
        json!([
            {"hosting_provider": "any", "name": "alpha", "location": "custom", "input_cost_per_token": 1e-6, "output_cost_per_token": 0.0},
            {"hosting_provider": "openai", "name": "beta", "location": "here", "input_cost_per_token": null, "output_cost_per_token": null},
            {"hosting_provider": "openai", "name": "zeta", "location": "custom", "input_cost_per_token": 2.5e-6, "output_cost_per_token": 1e-5},
            {"hosting_provider": "mistral", "name": "mistral/codestral-2508", "location": "global", "input_cost_per_token": 3e-7, "output_cost_per_token": 9e-7},
        ])
    );
    let (mut found, mut offset) = (Vec::new(), 0);
    while offset < all {
        let page = api.get(&format!("/v2/models?offset={offset}")).await.body;
        assert_eq!(page["meta"]["total_count"], all);
        found.extend(page["data"].as_array().unwrap().clone());
        offset += 100;
    }
    assert_eq!(found.len() as u64, all);
    let configured: Vec<&str> = found[3..]
        .iter()
        .map(|item| item["name"].as_str().unwrap())
        .collect();
    assert!(configured.is_sorted() && !configured.iter().any(|name| name.contains('#')));
    for name in [
        "offline/json",
        "openai/gpt-4o",
        "openai/text-embedding-3-small",
        "mistral/mistral-ocr-latest",
    ] {
        assert!(configured.contains(&name), "{name}");
    }
    assert!(configured.iter().all(|name| !name.starts_with("groq/")));
    let ocr = found
        .iter()
        .find(|item| item["name"] == "mistral/mistral-ocr-latest")
        .unwrap();
    assert_eq!(ocr["input_cost_per_token"], Value::Null);
    let beyond = api.get(&format!("/v2/models?offset={all}")).await.body;
    assert_eq!(beyond, json!({"meta": {"total_count": all}, "data": []}));
    let beta = server.api_with(crate::server::BETA);
    assert_eq!(
        beta.get("/v2/models?limit=1").await.body["meta"]["total_count"],
        all - 3
    );
    for query in ["limit=0", "limit=101", "offset=-1"] {
        assert_eq!(
            api.get(&format!("/v2/models?{query}")).await.status,
            422,
            "{query}"
        );
    }
}

#[tokio::test]
async fn at_another_address_only_what_the_operator_names_is_listed() {
    let folder = tempfile::tempdir().unwrap();
    let prices = folder.path().join("prices.toml");
    std::fs::write(&prices, "[models.\"mine/llama\"]\ninput = 1\noutput = 2\n[models.\"openai/*\"]\ninput = 3\noutput = 4\n").unwrap();
    let server = Server::start_with(&[
        (
            "GATEWRIGHT_PROVIDERS__MINE__API_BASE",
            "http://localhost:1/v1",
        ),
        ("GATEWRIGHT_PROVIDERS__MINE__REGION", "cellar"),
        (
            "GATEWRIGHT_PROVIDERS__OPENAI__API_BASE",
            "http://localhost:1/v1",
        ),
        ("GATEWRIGHT_PRICES__FILE", prices.to_str().unwrap()),
        ("GATEWRIGHT_MODELS__DEFAULT", "mine/llama"),
        ("GATEWRIGHT_MODELS__DEFAULT_EMBEDDING", "openai/embed"),
    ]);

    let page = server.api().get("/v2/models").await.body;

    let expected = [
        "mine/llama",
        "offline/echo",
        "offline/embed",
        "offline/json",
        "offline/rerank",
        "openai/embed",
        "openai/gpt-5.4-mini",
    ];
    assert_eq!(names(&page), expected);
    assert_eq!(
        page["data"][0],
        json!({"hosting_provider": "mine", "name": "mine/llama", "location": "cellar", "input_cost_per_token": 1e-6, "output_cost_per_token": 2e-6})
    );
    assert_eq!(page["data"][6]["output_cost_per_token"], 4e-6);
}

#[tokio::test]
async fn a_project_sees_the_configured_models_that_it_may_use() {
    let server = Server::start_with(&[("GATEWRIGHT_PROJECTS__ALPHA__MODELS", "[\"offline/e*\"]")]);
    let (api, beta) = (server.api(), server.api_with(crate::server::BETA));

    let page = api.get("/v2/models?limit=1").await.body;
    let door = api.get("/v2/openai/models").await.body;

    assert_eq!(
        (&page["meta"]["total_count"], names(&page)),
        (&json!(2), vec!["offline/echo"])
    );
    let ids = |list: &Value| -> Vec<Value> {
        let items = list["data"].as_array().unwrap();
        items.iter().map(|item| item["id"].clone()).collect()
    };
    assert_eq!(ids(&door), ["offline/echo", "offline/embed"]);
    let read = async |api: &crate::server::Api, model: &str| {
        let path = format!("/v2/openai/models/offline/{model}");
        api.get(&path).await.status.as_u16()
    };
    assert_eq!(
        (read(&api, "echo").await, read(&api, "json").await),
        (200, 404)
    );
    let of_beta = beta.get("/v2/models").await.body;
    assert_eq!(of_beta["meta"]["total_count"], 4);
    let of_beta = beta.get("/v2/openai/models").await.body;
    assert_eq!((ids(&of_beta).len(), read(&beta, "json").await), (4, 200));
}

#[tokio::test]
async fn a_name_of_a_provider_that_a_project_has_taken_is_listed_once() {
    let server = Server::start();
    let api = server.api();
    let body = json!({"name": "offline/echo", "identifier": "any/thing", "extra": {"api_base": "https://api.example/v1"}});
    api.post("/v2/models/custom", body).await;

    let door = api.get("/v2/openai/models").await.body;

    let items = door["data"].as_array().unwrap();
    let owners = items.iter().filter(|item| item["id"] == "offline/echo");
    let owners: Vec<&Value> = owners.map(|item| &item["owned_by"]).collect();
    assert_eq!(owners, ["any"]);
}

#[tokio::test]
async fn a_key_opens_no_host_of_the_operators_that_asks_for_none() {
    let private = Upstream::start(Answer::text("hi")).await;
    let server = Server::start_with(&[
        ("GATEWRIGHT_PROVIDERS__MINE__API_BASE", &private.base_url()),
        ("GATEWRIGHT_PROJECTS__ALPHA__MODELS", "[\"mine/ok\"]"),
    ]);
    let api = server.api();
    for name in ["ok", "forbidden"] {
        let model = json!({"name": name, "identifier": format!("mine/{name}"), "api_key": "junk"});
        api.post("/v2/models/custom", model).await;
    }
    let ask = async |name: &str| {
        let function = json!({"name": name, "instructions": "x", "model": name});
        api.call(&api.function(function).await, json!({})).await
    };

    let (allowed, forbidden) = (ask("ok").await, ask("forbidden").await);

    assert_eq!(allowed.status, 200, "{allowed:?}");
    assert_eq!(forbidden.class(), "BadRequestError");
    assert_eq!(private.requests().len(), 1);
}

#[tokio::test]
async fn servers_on_this_machine_are_the_operators_to_open() {
    let server = Server::start_with(&[]);
    let api = server.api();
    let function = async |model: Value| {
        api.post("/v2/models/custom", model.clone()).await;
        let function = json!({"name": model["name"], "instructions": "x", "model": model["name"]});
        api.function(function).await
    };
    let local = json!({"name": "local", "identifier": "vllm/any"});
    let function = function(local).await;

    let called = api.call(&function, json!({})).await;

    assert_eq!(called.class(), "BadRequestError", "{called:?}");
}

#[tokio::test]
async fn one_accounts_limit_is_not_anothers() {
    let upstream = Upstream::start(Script::by(|request| {
        match request.header("authorization") {
            Some("Bearer first") => Answer::error(429, "slow down").header("retry-after", "40"),
            _ => Answer::text("hi"),
        }
    }))
    .await;
    let allow = format!("[\"{}\"]", upstream.authority());
    let server = Server::start_with(&[("GATEWRIGHT_EGRESS__ALLOW", &allow)]);
    let api = server.api();
    for (name, key) in [("a", "first"), ("b", "second")] {
        let extra = json!({"api_base": upstream.base_url()});
        let model = json!({"name": name, "identifier": "host/m", "api_key": key, "extra": extra});
        api.post("/v2/models/custom", model).await;
    }
    let function = json!({"name": "f", "instructions": "x", "model": ["a", "b"]});

    let called = api.call(&api.function(function).await, json!({})).await;

    assert_eq!(called.status, 200, "{called:?}");
}

#[tokio::test]
async fn an_address_of_a_tenants_learns_nothing_of_the_operators_settings() {
    let upstream = Upstream::start(Answer::text("hi")).await;
    let server = Server::start_with(&[
        (
            "GATEWRIGHT_EGRESS__ALLOW",
            &format!("[\"{}\"]", upstream.authority()),
        ),
        ("GATEWRIGHT_PROVIDERS__AZURE__RESOURCE", "canary-resource"),
        ("GATEWRIGHT_PROVIDERS__AZURE__PROJECT", "canary-project"),
    ]);
    let api = server.api();
    let address = |rest: &str| format!("http://{}/{rest}", upstream.authority());
    let cases = [
        (json!({"api_base": address("{resource}/v1")}), false),
        (json!({"api_base": address("{project}/v1")}), false),
        (
            json!({"api_base": address("{project}/v1"), "project": "mine", "protocol": "openai"}),
            true,
        ),
    ];

    for (index, (extra, is_fine)) in cases.into_iter().enumerate() {
        let name = format!("m{index}");
        let body = json!({"name": name, "identifier": "azure/m", "api_key": "k", "extra": extra});
        let registered = api.post("/v2/models/custom", body).await;
        let function = json!({"name": name, "instructions": "x", "model": name});
        let called = api.call(&api.function(function).await, json!({})).await;

        assert_eq!(warning(&registered).is_none(), is_fine, "{registered:?}");
        assert_eq!(called.status.as_u16(), if is_fine { 200 } else { 400 });
        let said = format!("{registered:?} {called:?} {}", heard(&upstream, 0));
        assert!(!said.contains("canary"), "{said}");
    }
    assert_eq!(upstream.requests()[0].path, "/mine/v1/chat/completions");
}
