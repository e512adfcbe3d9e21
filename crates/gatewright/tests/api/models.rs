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
            "not allowed",
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
    let warning = |answer: &Answered| {
        let warning = answer.headers.get("x-gatewright-warning");
        warning.map(|warning| warning.to_str().unwrap().to_owned())
    };
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
    let fine = json!({"name": "d", "identifier": "openai/m", "extra": {"api_base": "http://127.0.0.1:9/v1"}});
    let fine = api.post("/v2/models/custom", fine).await;
    assert_eq!(warning(&fine), None);
}

#[tokio::test]
async fn a_project_may_use_what_the_operator_lists_and_what_it_pays_for_itself() {
    let upstream = Upstream::start(Answer::text("hi")).await;
    let server = Server::start_with(&[
        (
            "GATEWRIGHT_EGRESS__ALLOW",
            &format!("[\"{}\"]", upstream.authority()),
        ),
        (
            "GATEWRIGHT_PROVIDERS__LOCAL__API_BASE",
            &upstream.base_url(),
        ),
        (
            "GATEWRIGHT_PROJECTS__ALPHA__MODELS",
            "[\"local/small*\", \"offline/echo\"]",
        ),
    ]);
    let api = server.api();
    api.post(
        "/v2/models/custom",
        json!({"name": "mine", "identifier": "local/big"}),
    )
    .await;
    let paid = json!({"name": "paid", "identifier": "local/huge", "api_key": "k", "extra": {"api_base": upstream.base_url()}});
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
        json!("local/small-1"),
        json!("offline/echo"),
        json!("paid"),
        json!(["local/big", "local/small"]),
    ] {
        assert_eq!(
            ask(&api, model.clone()).await.status.as_u16(),
            200,
            "{model}"
        );
    }
    for model in [json!("local/big"), json!("mine"), json!("offline/json")] {
        let refused = ask(&api, model).await;
        assert_eq!(refused.class(), "BadRequestError");
        let reason = refused.body["detail"]["reason"].as_str().unwrap();
        assert!(reason.contains("`projects.alpha.models`"), "{reason}");
    }
    let other = server.api_with(crate::server::BETA);
    assert_eq!(ask(&other, json!("local/big")).await.status.as_u16(), 200);
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
        (
            "GATEWRIGHT_PROVIDERS__LOCAL__API_BASE",
            &upstream.base_url(),
        ),
        (
            "GATEWRIGHT_PROVIDERS__LOCAL__KEYS",
            "[{ env = \"ONE\", weight = 9 }, { env = \"TWO\" }]",
        ),
        ("ONE", "bad-key-1"),
        ("TWO", "good-key-2"),
    ]);
    let api = server.api();
    let function = json!({"name": "f", "instructions": "x", "model": "local/m"});
    let function = api.function(function).await;

    let first = api.call(&function, json!({})).await;
    let second = api.call(&function, json!({})).await;

    assert_eq!((first.status.as_u16(), second.status.as_u16()), (200, 200));
    // The bad key was tried once, and rests.
    assert_eq!(upstream.requests().len(), 3);
    assert_eq!(api.span(&first).await["meta"]["attempts"], json!(1));
}

#[tokio::test]
async fn a_model_of_images_answers_with_images_alone() {
    let made = json!({"created": 1, "data": [{"url": "https://h/1.png"}, {"b64_json": "aGk="}]});
    let upstream = Upstream::start(Answer::body(200, &made)).await;
    let server = Server::start_with(&[(
        "GATEWRIGHT_EGRESS__ALLOW",
        &format!("[\"{}\"]", upstream.authority()),
    )]);
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
        json!({"name": "zeta", "identifier": "openai/gpt-4o-2099-01-01", "extra": {"region": "here"}}),
        json!({"name": "alpha", "identifier": "any/thing", "extra": {"api_base": "https://api.example/v1", "input_cost_per_token": 1e-6}}),
        json!({"name": "beta", "identifier": "openai/gpt-4o", "extra": {"api_base": "https://api.example/v1"}}),
    ] {
        assert_eq!(api.post("/v2/models/custom", body).await.status, 200);
    }

    let first = api.get("/v2/models?limit=4").await.body;
    let all = first["meta"]["total_count"].as_u64().unwrap();
    assert_eq!(
        first["data"],
        json!([
            {"hosting_provider": "any", "name": "alpha", "location": "custom", "input_cost_per_token": 1e-6, "output_cost_per_token": 0.0},
            {"hosting_provider": "openai", "name": "beta", "location": "custom", "input_cost_per_token": null, "output_cost_per_token": null},
            {"hosting_provider": "openai", "name": "zeta", "location": "here", "input_cost_per_token": 2.5e-6, "output_cost_per_token": 1e-5},
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
        "openai/gpt-4.1-mini",
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
    let api = server.api();

    let page = api.get("/v2/models?limit=1").await.body;

    assert_eq!(
        (&page["meta"]["total_count"], names(&page)),
        (&json!(2), vec!["offline/echo"])
    );
    let beta = server
        .api_with(crate::server::BETA)
        .get("/v2/models")
        .await
        .body;
    assert_eq!(beta["meta"]["total_count"], 4);
}
