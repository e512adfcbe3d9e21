//! `/v2/models/aliases`: `interface.md` 5.2 and 5.3.

use serde_json::{Value, json};
use testkit::{Answer, Script};

use crate::server::{self, Api, BETA, Server};

fn path(alias: &Value) -> String {
    format!("/v2/models/aliases/{}", alias["id"].as_str().unwrap())
}

async fn create(api: &Api, name: &str, models: &[&str]) -> Value {
    let body = json!({"name": name, "fallback_models": models});
    let answer = api.post("/v2/models/aliases", body).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.body
}

async fn call(api: &Api, model: Value) -> server::Answer {
    let name = format!("f-{}", uuid::Uuid::now_v7());
    let function = json!({"name": name, "instructions": "x", "model": model});
    let function = api.function(function).await;
    api.call(&function, json!({"input": "hi"})).await
}

/// Checks that a call is refused, and gives the reason, which the span has as well.
async fn refused(api: &Api, model: Value) -> String {
    let answer = call(api, model).await;
    assert_eq!(
        (answer.status.as_u16(), answer.class()),
        (400, "BadRequestError"),
        "{answer:?}"
    );
    let reason = answer.body["detail"]["reason"].as_str().unwrap().to_owned();
    assert_eq!(
        api.span(&answer).await["error"],
        format!("BadRequestError: {reason}")
    );
    reason
}

#[tokio::test]
async fn an_alias_has_every_member() {
    let server = Server::start();
    let api = server.api();

    let least = api
        .post(
            "/v2/models/aliases",
            json!({"name": "least", "fallback_models": ["a/b"], "id": 3}),
        )
        .await;
    let whole = api
        .post(
            "/v2/models/aliases",
            json!({"name": "a/whole one", "fallback_models": ["b/å/c", "least", "b/å/c"], "description": "d"}),
        )
        .await;

    assert_eq!((least.status.as_u16(), whole.status.as_u16()), (200, 200));
    let expected = json!({"id": least.body["id"], "name": "least", "fallback_models": ["a/b"], "description": null});
    assert_eq!(least.body.to_string(), expected.to_string());
    let expected = json!({"id": whole.body["id"], "name": "a/whole one", "fallback_models": ["b/å/c", "least", "b/å/c"], "description": "d"});
    assert_eq!(whole.body.to_string(), expected.to_string());
    for alias in [&least, &whole] {
        assert_eq!(api.get(&path(&alias.body)).await.text, alias.text);
    }
}

#[tokio::test]
async fn each_rule_of_an_alias_has_its_fault() {
    let server = Server::start();
    let api = server.api();
    let whole = json!({"name": "fast", "fallback_models": ["a/b"], "description": "d"});
    let alias = api.post("/v2/models/aliases", whole.clone()).await.body;
    let models = json!(["body", "fallback_models"]);
    let cases = [
        (
            "name",
            json!(""),
            json!(["body", "name"]),
            "string_too_short",
        ),
        (
            "name",
            json!("å".repeat(256)),
            json!(["body", "name"]),
            "string_too_long",
        ),
        ("name", json!(1), json!(["body", "name"]), "string_type"),
        ("fallback_models", json!([]), models.clone(), "too_short"),
        (
            "fallback_models",
            json!(vec!["a/b"; 17]),
            models.clone(),
            "too_long",
        ),
        (
            "fallback_models",
            json!("a/b"),
            models.clone(),
            "array_type",
        ),
        (
            "fallback_models",
            json!(["a/b", ""]),
            json!(["body", "fallback_models", 1]),
            "string_too_short",
        ),
        (
            "fallback_models",
            json!(["/b"]),
            json!(["body", "fallback_models", 0]),
            "string_pattern_mismatch",
        ),
        (
            "fallback_models",
            json!(["a/"]),
            json!(["body", "fallback_models", 0]),
            "string_pattern_mismatch",
        ),
        (
            "fallback_models",
            json!(["å".repeat(256)]),
            json!(["body", "fallback_models", 0]),
            "string_too_long",
        ),
        (
            "fallback_models",
            json!([{"name": "a/b"}]),
            json!(["body", "fallback_models", 0]),
            "string_type",
        ),
        (
            "description",
            json!("å".repeat(1001)),
            json!(["body", "description"]),
            "string_too_long",
        ),
        (
            "description",
            json!(1),
            json!(["body", "description"]),
            "string_type",
        ),
    ];

    for (member, value, place, slug) in cases {
        let mut body = whole.clone();
        body[member] = value.clone();
        let answer = api.post("/v2/models/aliases", body).await;
        assert_eq!(answer.fault(), (422, place.clone(), slug), "{answer:?}");
        let answer = api.patch(&path(&alias), json!({member: value})).await;
        assert_eq!(answer.fault(), (422, place, slug), "{answer:?}");
    }
    for member in ["name", "fallback_models"] {
        for absent in [None, Some(Value::Null)] {
            let mut body = whole.clone();
            body.as_object_mut().unwrap().remove(member);
            body.as_object_mut()
                .unwrap()
                .extend(absent.map(|null| (member.to_owned(), null)));
            let answer = api.post("/v2/models/aliases", body).await;
            assert_eq!(answer.status, 422, "{answer:?}");
        }
    }
    assert_eq!(
        api.get("/v2/models/aliases").await.body,
        json!({"meta": {"total_count": 1}, "data": [alias]})
    );
    let most = json!({"name": "ä".repeat(255), "fallback_models": vec!["å".repeat(255); 16], "description": "å".repeat(1000)});
    assert_eq!(api.post("/v2/models/aliases", most).await.status, 200);
}

#[tokio::test]
async fn a_taken_name_is_refused_but_a_custom_model_may_have_it() {
    let server = Server::start();
    let api = server.api();
    create(&api, "fast", &["a/b"]).await;
    let other = create(&api, "quick", &["a/b"]).await;
    let body = json!({"name": "fast", "fallback_models": ["c/d"]});

    let again = api.post("/v2/models/aliases", body).await;
    let renamed = api.patch(&path(&other), json!({"name": "fast"})).await;

    for answer in [again, renamed] {
        assert_eq!(
            (answer.status.as_u16(), answer.class()),
            (409, "ConflictError")
        );
    }
    api.model("fast", "http://127.0.0.1:9/v1").await;
    api.model("model", "http://127.0.0.1:9/v1").await;
    create(&api, "model", &["a/b"]).await;
}

#[tokio::test]
async fn of_two_that_take_a_name_one_gets_it() {
    let server = Server::start();
    let api = server.api();
    let body = json!({"name": "fast", "fallback_models": ["a/b"]});

    let (one, other) = tokio::join!(
        api.post("/v2/models/aliases", body.clone()),
        api.post("/v2/models/aliases", body)
    );

    let mut statuses = [one, other].map(|answer| answer.status.as_u16());
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409]);
}

#[tokio::test]
async fn aliases_are_listed_by_name_and_found_by_it() {
    let server = Server::start();
    let api = server.api();
    for name in ["z", "a/b c", "m%"] {
        create(&api, name, &["a/b"]).await;
    }

    let list = api.get("/v2/models/aliases?offset=1&limit=1").await.body;
    assert_eq!(
        (&list["meta"], &list["data"][0]["name"]),
        (&json!({"total_count": 3}), &json!("m%"))
    );
    assert_eq!(
        api.get("/v2/models/aliases?limit=101").await.fault(),
        (422, json!(["query", "limit"]), "less_than_equal")
    );
    for (form, name) in [
        ("a/b%20c", "a/b c"),
        ("a%2Fb%20c", "a/b c"),
        ("m%25", "m%"),
        ("z", "z"),
    ] {
        let found = api.get(&format!("/v2/models/aliases/by-name/{form}")).await;
        assert_eq!(found.body["name"], name, "{form}");
    }
    assert_eq!(
        api.get("/v2/models/aliases/by-name/nothing").await.body["detail"],
        "Alias not found"
    );
    assert_eq!(
        api.get("/v2/models/aliases/nothing").await.fault(),
        (422, json!(["path", "alias_id"]), "uuid_parsing")
    );
}

#[tokio::test]
async fn a_change_leaves_replaces_and_clears() {
    let server = Server::start();
    let api = server.api();
    let alias = api
        .post(
            "/v2/models/aliases",
            json!({"name": "fast", "fallback_models": ["a/b", "c/d"], "description": "d"}),
        )
        .await
        .body;
    let path = path(&alias);

    assert_eq!(api.patch(&path, json!({})).await.body, alias);
    let nothing = json!({"name": null, "fallback_models": null});
    assert_eq!(api.patch(&path, nothing).await.body, alias);
    let changed = api
        .patch(
            &path,
            json!({"name": "quick", "fallback_models": ["e"], "description": null}),
        )
        .await
        .body;
    assert_eq!(
        changed,
        json!({"id": alias["id"], "name": "quick", "fallback_models": ["e"], "description": null})
    );
    assert_eq!(api.get(&path).await.body, changed);
    create(&api, "fast", &["a/b"]).await;
    assert_eq!(api.delete(&path).await.status, 204);
    let gone = [
        api.get(&path).await,
        api.patch(&path, json!({"description": "d"})).await,
        api.delete(&path).await,
        api.get("/v2/models/aliases/by-name/quick").await,
    ];
    for answer in gone {
        assert_eq!(
            (answer.status.as_u16(), &answer.body["detail"]),
            (404, &json!("Alias not found"))
        );
    }
}

#[tokio::test]
async fn another_project_s_alias_is_not_there() {
    let server = Server::start();
    let (alpha, beta) = (server.api(), server.api_with(BETA));
    let alias = create(&alpha, "fast", &["offline/echo"]).await;
    create(&beta, "theirs", &["fast"]).await;

    let foreign = [
        beta.get(&path(&alias)).await,
        beta.get("/v2/models/aliases/by-name/fast").await,
        beta.patch(&path(&alias), json!({"name": "mine"})).await,
        beta.delete(&path(&alias)).await,
    ];

    let unknown = beta
        .get("/v2/models/aliases/0190f3a0-0000-7000-8000-000000000000")
        .await;
    for answer in foreign {
        assert_eq!((answer.status.as_u16(), &answer.text), (404, &unknown.text));
    }
    let listed = beta.get("/v2/models/aliases").await.body;
    assert_eq!(listed["meta"]["total_count"], 1);
    let direct = refused(&beta, json!("fast")).await;
    let none = refused(&beta, json!("none")).await;
    assert_eq!(direct.replace("fast", "none"), none);
    assert_eq!(refused(&beta, json!("theirs")).await, direct);
    assert_eq!(call(&alpha, json!("fast")).await.body["message"], "hi");
    create(&beta, "fast", &["offline/echo"]).await;
    assert_eq!(call(&beta, json!("theirs")).await.body["message"], "hi");
    assert_eq!(alpha.get(&path(&alias)).await.body, alias);
}

#[tokio::test]
async fn a_name_is_a_custom_model_then_an_alias_then_an_identifier_then_a_host_s() {
    let (server, upstream) = Server::with_upstream(Answer::text("hello")).await;
    let api = server.api();
    let asked = async || {
        let answer = call(&api, json!("house/fast")).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let meta = api.span(&answer).await["meta"].clone();
        let model = upstream.requests().last().unwrap().json()["model"].clone();
        (model, meta["model"].clone())
    };
    let register = async |name: &str, identifier: &str| {
        let body = json!({"name": name, "identifier": identifier});
        assert_eq!(api.post("/v2/models/custom", body).await.status, 200);
    };

    assert_eq!(asked().await, (json!("fast"), json!("house/fast")));
    let extra =
        json!({"name": "by identifier", "identifier": "house/fast", "extra": {"max_tokens": 7}});
    assert_eq!(api.post("/v2/models/custom", extra).await.status, 200);
    assert_eq!(asked().await, (json!("fast"), json!("house/fast")));
    assert_eq!(upstream.requests().last().unwrap().json()["max_tokens"], 7);
    create(&api, "house/fast", &["house/of-the-alias"]).await;
    assert_eq!(
        asked().await,
        (json!("of-the-alias"), json!("house/of-the-alias"))
    );
    register("house/fast", "house/of-the-model").await;
    assert_eq!(asked().await, (json!("of-the-model"), json!("house/fast")));
}

#[tokio::test]
async fn an_alias_stands_for_its_list_with_what_is_sent_along() {
    let script = Script::by(|request| match request.json()["model"].as_str() {
        Some("last") => Answer::text("from the last"),
        _ => Answer::error(404, "no such model"),
    });
    let (server, upstream) = Server::with_upstream(script).await;
    let api = server.api();
    create(&api, "inner", &["house/b", "house/c"]).await;
    create(&api, "outer", &["house/a", "inner", "nobody/nothing"]).await;

    let answer = call(
        &api,
        json!([
            "house/first",
            {"name": "outer", "options": {"seed": 7}, "extra_headers": {"x-mine": "1"}},
            "house/last",
        ]),
    )
    .await;

    assert_eq!(answer.body["message"], "from the last", "{answer:?}");
    let asked: Vec<_> = upstream
        .requests()
        .iter()
        .map(|request| {
            let body = request.json();
            let header = request.header("x-mine").map(str::to_owned);
            (body["model"].clone(), body["seed"].clone(), header)
        })
        .collect();
    let sent = |model: &str| (json!(model), json!(7), Some("1".to_owned()));
    let bare = |model: &str| (json!(model), Value::Null, None);
    assert_eq!(
        asked,
        [bare("first"), sent("a"), sent("b"), sent("c"), bare("last")]
    );
    let meta = &api.span(&answer).await["meta"];
    let tried: Vec<_> = meta["models_tried"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tried| tried["model"].as_str().unwrap())
        .collect();
    assert_eq!(meta["model"], "house/last");
    assert_eq!(
        tried,
        [
            "house/first",
            "house/a",
            "house/b",
            "house/c",
            "nobody/nothing",
            "house/last"
        ]
    );
    let failed = call(&api, json!("inner")).await;
    let names: Vec<_> = failed.body["detail"]["models"]
        .as_array()
        .unwrap()
        .iter()
        .map(|model| model["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        (failed.status.as_u16(), names),
        (502, vec!["house/b", "house/c"])
    );
}

#[tokio::test]
async fn a_changed_alias_counts_at_the_next_call_and_beside_the_cache() {
    let server = Server::start();
    let api = server.api();
    let alias = create(&api, "fast", &["offline/echo"]).await;
    let function = api
        .function(json!({"name": "f", "instructions": "x", "model": "fast", "configuration": {"invocation.cache.ttl": 60}}))
        .await;
    let asked = async || {
        let answer = api.call(&function, json!({"input": "hi"})).await;
        let meta = api.span(&answer).await["meta"].clone();
        (meta["model"].clone(), answer.body["cached"].clone())
    };

    assert_eq!(asked().await, (json!("offline/echo"), json!(false)));
    assert_eq!(asked().await, (json!("offline/echo"), json!(true)));
    api.patch(&path(&alias), json!({"fallback_models": ["offline/json"]}))
        .await;
    assert_eq!(asked().await, (json!("offline/json"), json!(false)));
    api.delete(&path(&alias)).await;
    let answer = api.call(&function, json!({"input": "hi"})).await;
    assert_eq!(answer.class(), "BadRequestError");
}

#[tokio::test]
async fn aliases_stand_inside_each_other_five_deep() {
    let server = Server::start();
    let api = server.api();
    create(&api, "1", &["offline/echo"]).await;
    for outer in 2..=6 {
        let inner = (outer - 1).to_string();
        create(&api, &outer.to_string(), &[&inner]).await;
    }
    create(&api, "mixed", &["offline/echo", "6"]).await;

    let answer = call(&api, json!("5")).await;
    assert_eq!(answer.body["message"], "hi", "{answer:?}");
    assert_eq!(
        refused(&api, json!("6")).await,
        "more than 5 aliases stand inside each other: `6` -> `5` -> `4` -> `3` -> `2` -> `1`"
    );
    let reason = refused(&api, json!(["offline/echo", "mixed"])).await;
    assert!(reason.starts_with("more than 5 aliases"), "{reason}");
}

#[tokio::test]
async fn an_alias_that_leads_back_to_itself_is_refused_when_it_is_written() {
    let server = Server::start();
    let api = server.api();
    let a = create(&api, "a", &["b", "offline/echo"]).await;
    let list = |name: &str, models: Value| json!({"name": name, "fallback_models": models});
    let refused = async |answer: server::Answer| {
        assert_eq!(
            (answer.status.as_u16(), answer.class()),
            (400, "BadRequestError"),
            "{answer:?}"
        );
        answer.body["detail"].clone()
    };

    let itself = api.post("/v2/models/aliases", list("x/y", json!(["x/y"])));
    let detail = refused(itself.await).await;
    assert_eq!(
        detail,
        "the alias `x/y` would lead back to itself; take it out of its own list"
    );
    refused(
        api.post("/v2/models/aliases", list("b", json!(["c/d", "a"])))
            .await,
    )
    .await;
    let c = create(&api, "c", &["a"]).await;
    refused(api.patch(&path(&c), json!({"name": "b"})).await).await;
    refused(
        api.patch(&path(&a), json!({"fallback_models": ["c"]}))
            .await,
    )
    .await;
    assert_eq!(api.get(&path(&a)).await.body, a);
    assert_eq!(api.get(&path(&c)).await.body, c);
    let renamed = json!({"name": "z", "fallback_models": ["a"]});
    assert_eq!(
        api.patch(&path(&a), renamed).await.status,
        200,
        "its old name means nothing any more"
    );
}

#[tokio::test]
async fn a_circle_that_comes_about_later_is_refused_at_the_call() {
    let server = Server::start();
    let api = server.api();
    let model = json!({"name": "a", "identifier": "offline/echo"});
    let model = api.post("/v2/models/custom", model).await.body;
    create(&api, "a", &["b"]).await;
    create(&api, "b", &["offline/echo", "a"]).await;
    create(&api, "twice", &["b", "offline/echo", "b"]).await;
    let answer = call(&api, json!("twice")).await;
    assert_eq!(answer.body["message"], "hi", "the custom model goes first");

    let deleted = api
        .delete(&format!(
            "/v2/models/custom/{}",
            model["id"].as_str().unwrap()
        ))
        .await;

    assert_eq!(deleted.status, 204);
    assert_eq!(
        refused(&api, json!("twice")).await,
        "aliases lead in a circle: `twice` -> `b` -> `a` -> `b`"
    );
    assert_eq!(
        refused(&api, json!(["offline/echo", "a"])).await,
        "aliases lead in a circle: `a` -> `b` -> `a`"
    );
}

#[tokio::test]
async fn aliases_lead_to_no_more_than_64_models() {
    let server = Server::start();
    let api = server.api();
    create(&api, "16", &["offline/echo"; 16]).await;
    create(&api, "64", &["16"; 4]).await;
    create(&api, "huge", &["64"; 16]).await;

    let answer = call(&api, json!("64")).await;
    assert_eq!(answer.body["message"], "hi", "{answer:?}");
    for model in [json!("huge"), json!(["64", "offline/echo"])] {
        let reason = refused(&api, model).await;
        assert!(
            reason.starts_with("aliases lead to more than 64 models: "),
            "{reason}"
        );
    }
}

#[tokio::test]
async fn what_an_alias_lists_may_come_later() {
    let server = Server::start();
    let api = server.api();
    create(&api, "nowhere", &["nobody/nothing", "later"]).await;

    let reason = refused(&api, json!("nowhere")).await;

    assert!(reason.contains("`nobody/nothing`"), "{reason}");
    assert!(
        reason.contains("`later`: no custom model or alias has this name"),
        "{reason}"
    );
    create(&api, "later", &["offline/echo"]).await;
    assert_eq!(call(&api, json!("nowhere")).await.body["message"], "hi");
}
