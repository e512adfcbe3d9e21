//! `/v2/functions`: `interface.md` section 2.

use std::collections::BTreeSet;

use reqwest::Method;
use serde_json::{Value, json};

use crate::server::{ALPHA, Api, Server};

fn path(function: &Value) -> String {
    format!("/v2/functions/{}", function["id"].as_str().unwrap())
}

#[tokio::test]
async fn a_created_function_has_every_member() {
    let server = Server::start();
    let given = json!({
        "name": "team/task.v1", "instructions": "", "description": "d",
        "input_schema": {"type": "object", "$defs": {"b": {"type": "number", "multipleOf": 0.10}, "a": {}}},
        "output_schema": {"type": "string"},
        "model": {"name": "openai/gpt-4.1-mini", "options": {"temperature": 0.0, "seed": 12_345_678_901_234_567_890_u64}},
        "configuration": {"invocation.cache.ttl": 0, "beta.evaluation": {"x": [1]}},
        "id": "ignored", "revision_id": 7, "dataset_id": null, "is_v3": "ignored", "unknown": {"a": 1},
    });

    let created = server.api().function(given.clone()).await;

    let members: Vec<&String> = created.as_object().unwrap().keys().collect();
    assert_eq!(
        members,
        [
            "id",
            "name",
            "description",
            "instructions",
            "input_schema",
            "output_schema",
            "model",
            "configuration",
            "dataset_id",
            "revision_id",
            "observer_enabled",
            "is_v3",
        ]
    );
    for member in [
        "name",
        "description",
        "instructions",
        "input_schema",
        "output_schema",
        "configuration",
    ] {
        assert_eq!(
            created[member].to_string(),
            given[member].to_string(),
            "{member}"
        );
    }
    let model = json!({"name": "openai/gpt-4.1-mini", "options": given["model"]["options"], "extra_headers": {}});
    assert_eq!(created["model"].to_string(), model.to_string());
    assert_eq!(
        (&created["observer_enabled"], &created["is_v3"]),
        (&json!(true), &json!(false))
    );
    for id in ["id", "dataset_id", "revision_id"] {
        let id = uuid::Uuid::parse_str(created[id].as_str().unwrap()).unwrap();
        assert_eq!(id.get_version_num(), 7);
    }
    assert_eq!(
        server.api().get(&path(&created)).await.body.to_string(),
        created.to_string()
    );
}

#[tokio::test]
async fn schemas_come_back_to_the_letter() {
    let server = Server::start();
    let schema = r#"{"type":"number","maximum":12345678901234567890123,"multipleOf":0.10,"title":"\u00e5 \/ \ud83d\ude00"}"#;
    let body = format!(r#"{{ "name" : "exact", "instructions": "x", "input_schema": {schema} }}"#);

    let created = server
        .api()
        .send_text(Method::POST, "/v2/functions", Some(body))
        .await;

    assert_eq!(created.status, 201, "{created:?}");
    assert!(created.text.contains(schema), "{}", created.text);
    let read = server.api().get("/v2/functions/by-name/exact").await;
    assert_eq!(read.text, created.text);
}

#[tokio::test]
async fn without_a_model_the_member_is_left_out() {
    let server = Server::start();

    let created = server
        .api()
        .function(json!({"name": "f", "instructions": "x", "description": null, "model": null}))
        .await;

    assert!(created.get("model").is_none());
    assert_eq!(
        (&created["description"], &created["input_schema"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!(created["configuration"], json!({}));
    let listed = server.api().get("/v2/functions").await.body;
    assert_eq!(listed["data"][0]["model"], Value::Null);
}

#[tokio::test]
async fn every_form_of_a_model_spec_is_answered_in_object_form() {
    let server = Server::start();
    let plain = json!({"name": "a/b", "options": {}, "extra_headers": {}});
    let full = json!({"name": "x", "options": {"t": 1.0}, "extra_headers": {"x-a": "b"}});
    let forms = [
        (json!("a/b"), plain.clone()),
        (json!({"model": "a/b"}), plain.clone()),
        (
            json!({"name": "a/b", "options": null, "extra_headers": null}),
            plain.clone(),
        ),
        (json!(["a/b", full]), json!([plain, full])),
    ];

    for (number, (given, answered)) in forms.into_iter().enumerate() {
        let created = server
            .api()
            .function(json!({"name": format!("f{number}"), "instructions": "x", "model": given}))
            .await;

        assert_eq!(created["model"].to_string(), answered.to_string());
    }
}

#[tokio::test]
async fn each_rule_of_a_create_has_its_fault() {
    let server = Server::start();
    let api = server.api();
    let with = |member: &str, value: Value| {
        let mut body = json!({"name": "f", "instructions": "x"});
        body[member] = value;
        body
    };
    let deep = (0..70).fold(json!({}), |inner, _| json!({"not": inner}));
    let cases = [
        (
            json!({"instructions": "x"}),
            json!(["body", "name"]),
            "missing",
        ),
        (
            json!({"name": "f"}),
            json!(["body", "instructions"]),
            "missing",
        ),
        (
            json!({"name": null, "instructions": "x"}),
            json!(["body", "name"]),
            "string_type",
        ),
        (json!([]), json!(["body"]), "object_type"),
        (json!(["f", "x"]), json!(["body"]), "object_type"),
        (json!("f"), json!(["body"]), "object_type"),
        (json!(null), json!(["body"]), "object_type"),
        (
            with("name", json!(3)),
            json!(["body", "name"]),
            "string_type",
        ),
        (
            with("name", json!("a b")),
            json!(["body", "name"]),
            "string_pattern_mismatch",
        ),
        (
            with("name", json!("a/")),
            json!(["body", "name"]),
            "string_pattern_mismatch",
        ),
        (
            with("name", json!("a\n")),
            json!(["body", "name"]),
            "string_pattern_mismatch",
        ),
        (
            with("name", json!("")),
            json!(["body", "name"]),
            "string_pattern_mismatch",
        ),
        (
            with("name", json!("a".repeat(256))),
            json!(["body", "name"]),
            "string_too_long",
        ),
        (
            with("instructions", json!(["x"])),
            json!(["body", "instructions"]),
            "string_type",
        ),
        (
            with("instructions", json!("x".repeat(256 * 1024 + 1))),
            json!(["body", "instructions"]),
            "string_too_long",
        ),
        (
            with("description", json!(1)),
            json!(["body", "description"]),
            "string_type",
        ),
        (
            with("description", json!("x".repeat(8 * 1024 + 1))),
            json!(["body", "description"]),
            "string_too_long",
        ),
        (
            with("input_schema", json!(true)),
            json!(["body", "input_schema"]),
            "object_type",
        ),
        (
            with("input_schema", json!({"type": "thing"})),
            json!(["body", "input_schema"]),
            "json_schema",
        ),
        (
            with("output_schema", json!({"$ref": "#/$defs/x"})),
            json!(["body", "output_schema"]),
            "json_schema",
        ),
        (
            with("output_schema", json!({"$ref": "http://127.0.0.1:9/x"})),
            json!(["body", "output_schema"]),
            "json_schema",
        ),
        (
            with("output_schema", deep),
            json!(["body", "output_schema"]),
            "too_long",
        ),
        (
            with("model", json!(3)),
            json!(["body", "model"]),
            "model_type",
        ),
        (
            with("model", json!([])),
            json!(["body", "model"]),
            "too_short",
        ),
        (
            with("model", json!("/x")),
            json!(["body", "model"]),
            "string_pattern_mismatch",
        ),
        (
            with("model", json!(["a/b", {}])),
            json!(["body", "model", 1, "name"]),
            "missing",
        ),
        (
            with("model", json!({"name": "a/b", "options": []})),
            json!(["body", "model", "options"]),
            "object_type",
        ),
        (
            with(
                "model",
                json!({"name": "a/b", "extra_headers": {"a b": "c"}}),
            ),
            json!(["body", "model", "extra_headers"]),
            "header_name",
        ),
        (
            with(
                "model",
                json!({"name": "a/b", "extra_headers": {"a": "b\r\nc"}}),
            ),
            json!(["body", "model", "extra_headers"]),
            "header_value",
        ),
        (
            with("configuration", json!([])),
            json!(["body", "configuration"]),
            "object_type",
        ),
        (
            with("configuration", json!({"invocation.cache.ttl": -1})),
            json!(["body", "configuration", "invocation.cache.ttl"]),
            "greater_than_equal",
        ),
        (
            with("configuration", json!({"invocation.cache.ttl": true})),
            json!(["body", "configuration", "invocation.cache.ttl"]),
            "int_type",
        ),
        (
            with("configuration", json!({"invocation.few_shot.count": 101})),
            json!(["body", "configuration", "invocation.few_shot.count"]),
            "less_than_equal",
        ),
    ];

    for (body, place, slug) in cases {
        let answer = api
            .send_text(Method::POST, "/v2/functions", Some(body.to_string()))
            .await;

        assert_eq!(answer.fault(), (422, place, slug), "{answer:?}");
    }
    assert_eq!(
        api.get("/v2/functions").await.body["meta"]["total_count"],
        0,
        "nothing half-written"
    );
}

#[tokio::test]
async fn a_schema_that_would_take_for_ever_is_refused() {
    let server = Server::start();
    let api = server.api();
    let doubling = (1..=30).fold(
        json!({"d0": {"type": "integer"}}),
        |mut definitions, level| {
            let below = json!({"$ref": format!("#/$defs/d{}", level - 1)});
            definitions[format!("d{level}")] = json!({"anyOf": [below, below]});
            definitions
        },
    );
    let node = json!({"properties": {"next": {"$ref": "#"}}});
    let bombs = [
        json!({"$defs": doubling, "$ref": "#/$defs/d30"}),
        json!({"$ref": "#"}),
        json!({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}),
        json!({"anyOf": [node, node]}),
        json!({"enum": (0..2000).collect::<Vec<_>>()}),
        json!({"pattern": "(([01]{1,60}){1,60}){0,2}2$"}),
        json!({"anyOf": vec![json!({"pattern": "[ab]{1,4000}x"}); 50]}),
    ];

    for schema in bombs {
        let body = json!({"name": "bomb", "instructions": "x", "output_schema": schema});
        let answer = api.post("/v2/functions", body).await;

        let (status, place, _) = answer.fault();
        assert_eq!(
            (status, place),
            (422, json!(["body", "output_schema"])),
            "{schema}"
        );
    }
    let list = json!({"type": ["object", "null"], "properties": {"next": {"$ref": "#"}}});
    api.function(json!({"name": "list", "instructions": "x", "input_schema": list}))
        .await;
}

#[tokio::test]
async fn a_body_that_is_no_strict_json_is_refused() {
    let server = Server::start();
    let api = server.api();
    let nested = |levels: usize| {
        let schema = format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
        format!(r#"{{"name":"n","instructions":"x","configuration":{{"x":{schema}}}}}"#)
    };
    let bodies = [
        String::new(),
        "{".to_owned(),
        "nope".to_owned(),
        r#"{"name":"a","name":"b","instructions":"x"}"#.to_owned(),
        r#"{"name":"a","instructions":"\ud800"}"#.to_owned(),
        r#"{"name":"a","instructions":"x"} 1"#.to_owned(),
        r#"{"name":"a","instructions":"x","configuration":{"x":1e999}}"#.to_owned(),
        r#"{"name":"a","instructions":"x","configuration":{"x":NaN}}"#.to_owned(),
        "\u{feff}{}".to_owned(),
        nested(127),
    ];

    for body in bodies {
        let answer = api
            .send_text(Method::POST, "/v2/functions", Some(body.clone()))
            .await;

        assert_eq!(
            answer.fault(),
            (422, json!(["body"]), "json_invalid"),
            "{body}"
        );
    }
    let answer = api
        .send_text(Method::POST, "/v2/functions", Some(nested(126)))
        .await;
    assert_eq!(answer.status, 201, "128 levels are taken: {answer:?}");
}

#[tokio::test]
async fn any_content_type_is_read_as_json_and_no_coding_is() {
    let server = Server::start();
    let post = |name: &str| {
        reqwest::Client::new()
            .post(format!("{}/v2/functions", server.address))
            .bearer_auth(crate::server::ALPHA)
            .body(json!({"name": name, "instructions": "x"}).to_string())
    };

    assert_eq!(post("a").send().await.unwrap().status(), 201);
    assert_eq!(
        post("b")
            .header("content-type", "text/plain")
            .send()
            .await
            .unwrap()
            .status(),
        201
    );
    assert_eq!(
        post("c")
            .header("content-encoding", "gzip")
            .send()
            .await
            .unwrap()
            .status(),
        422
    );
}

#[tokio::test]
async fn a_body_above_its_limit_is_refused_and_the_connection_lives() {
    let server = Server::start();
    let api = server.api();
    let body = |bytes: usize| {
        json!({"name": "big", "instructions": "x", "unknown": "y".repeat(bytes)}).to_string()
    };

    let answer = api
        .send_text(Method::POST, "/v2/functions", Some(body(2 * 1024 * 1024)))
        .await;
    assert_eq!(
        (answer.status.as_u16(), answer.class()),
        (413, "PayloadTooLargeError")
    );

    let chunked = reqwest::Body::wrap_stream(futures_util::stream::iter(
        (0..64).map(|_| Ok::<_, std::io::Error>(vec![b' '; 64 * 1024])),
    ));
    let request = reqwest::Client::new().post(format!("{}/v2/functions", server.address));
    let answer = request
        .bearer_auth(crate::server::ALPHA)
        .body(chunked)
        .send()
        .await
        .unwrap();
    assert_eq!(
        answer.status(),
        413,
        "known at the byte where a chunked body crosses the limit"
    );

    let model = json!({"name": "m", "identifier": "a/b", "extra": {"x": "y".repeat(200_000)}});
    assert_eq!(
        api.send_text(Method::POST, "/v2/models/custom", Some(model.to_string()))
            .await
            .status,
        413
    );
    let answer = api
        .send_text(Method::POST, "/v2/functions", Some(body(1024 * 1024)))
        .await;
    assert_eq!(answer.status, 201);
}

#[tokio::test]
async fn a_very_large_refused_body_still_gets_its_answer() {
    let server = Server::start();
    let client = reqwest::Client::new();
    for (megabytes, token, status) in [
        (3, ALPHA, 413),
        (10, ALPHA, 413),
        (40, ALPHA, 413),
        (10, "nobody", 401),
    ] {
        for _ in 0..5 {
            let request = client
                .post(format!("{}/v2/functions", server.address))
                .bearer_auth(token);
            let answer = request
                .body(vec![b' '; megabytes * 1024 * 1024])
                .send()
                .await
                .unwrap();

            assert_eq!(answer.status(), status);
        }
    }
}

#[tokio::test]
async fn a_taken_name_is_refused() {
    let server = Server::start();
    let api = server.api();
    api.function(json!({"name": "f", "instructions": "x"}))
        .await;

    let answer = api
        .post("/v2/functions", json!({"name": "f", "instructions": "y"}))
        .await;

    assert_eq!(
        (answer.status.as_u16(), answer.class()),
        (409, "ConflictError")
    );
    assert_eq!(answer.body["message"], "The resource already exists");
}

#[tokio::test]
async fn of_a_hundred_creates_of_one_name_one_gets_through() {
    let server = Server::start();
    let creates = (0..100).map(|number| {
        let api = server.api();
        tokio::spawn(async move {
            let body = json!({"name": "contended", "instructions": number.to_string()});
            api.post("/v2/functions", body).await
        })
    });

    let mut statuses = Vec::new();
    for create in creates.collect::<Vec<_>>() {
        statuses.push(create.await.unwrap().status.as_u16());
    }

    assert_eq!(statuses.iter().filter(|status| **status == 201).count(), 1);
    assert_eq!(statuses.iter().filter(|status| **status == 409).count(), 99);
}

#[tokio::test]
async fn a_name_is_found_with_raw_and_encoded_slashes() {
    let server = Server::start();
    let api = server.api();
    for name in ["plain", "team/task", "a/b/c.d", "by-name/x", "revisions"] {
        let created = api
            .function(json!({"name": name, "instructions": "x"}))
            .await;
        for form in [
            name.to_owned(),
            name.replace('/', "%2F"),
            name.replace('/', "%2f"),
            name.replace('a', "%61"),
        ] {
            let found = api.get(&format!("/v2/functions/by-name/{form}")).await;

            assert_eq!(found.body["id"], created["id"], "{form}");
        }
    }
    for missing in [
        "nothing",
        "team",
        "team/",
        "team%2Ftask%2F",
        "%252F",
        "a%20b",
        "%ff",
    ] {
        let answer = api.get(&format!("/v2/functions/by-name/{missing}")).await;

        assert_eq!(
            (answer.status.as_u16(), answer.class()),
            (404, "NotFoundError"),
            "{missing}"
        );
    }
}

#[tokio::test]
async fn an_id_is_a_uuid_in_its_36_character_form() {
    let server = Server::start();
    let api = server.api();
    let unknown = "0190f3a0-0000-7000-8000-000000000000";
    let other_forms = [
        "x",
        "0190f3a0000070008000000000000000",
        "{0190f3a0-0000-7000-8000-000000000000}",
        "by-name",
    ];

    for id in other_forms {
        let id = id.replace('{', "%7B").replace('}', "%7D");
        let answer = api.get(&format!("/v2/functions/{id}")).await;
        assert_eq!(
            answer.fault(),
            (422, json!(["path", "function_id"]), "uuid_parsing"),
            "{id}"
        );
    }
    for path in [
        format!("/v2/functions/{unknown}"),
        format!("/v2/functions/{unknown}/revisions"),
    ] {
        let answer = api.get(&path).await;
        assert_eq!(
            (answer.status.as_u16(), &answer.body["detail"]),
            (404, &json!("Function not found"))
        );
    }
    assert_eq!(
        api.get(&format!("/v2/functions/{}", unknown.to_uppercase()))
            .await
            .status,
        404
    );
}

#[tokio::test]
async fn lists_page_filter_and_sort() {
    let server = Server::start();
    let api = server.api();
    for name in ["b", "a", "team/C", "team/c"] {
        api.function(json!({"name": name, "instructions": "x"}))
            .await;
    }
    let names = async |query: &str| {
        let list = api.get(&format!("/v2/functions{query}")).await.body;
        let names: Vec<String> = list["data"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| item["name"].as_str().unwrap().to_owned())
            .collect();
        (list["meta"].clone(), names)
    };

    assert_eq!(
        names("").await,
        (
            json!({"total_count": 4}),
            vec!["a".into(), "b".into(), "team/C".into(), "team/c".into()]
        )
    );
    assert_eq!(
        names("?sort=-name&limit=1").await,
        (json!({"total_count": 4}), vec!["team/c".into()])
    );
    assert_eq!(
        names("?sort=created&offset=1&limit=2").await.1,
        ["a", "team/C"]
    );
    assert_eq!(
        names("?sort=-created_at").await.1,
        ["team/c", "team/C", "a", "b"]
    );
    assert_eq!(
        names("?name=c").await,
        (json!({"total_count": 1}), vec!["team/c".into()])
    );
    assert_eq!(names("?name=%25").await.0, json!({"total_count": 0}));
    assert_eq!(
        names("?offset=9").await,
        (json!({"total_count": 4}), vec![])
    );
    let faults = [
        ("limit=0", "limit", "greater_than_equal"),
        ("limit=101", "limit", "less_than_equal"),
        ("limit=x", "limit", "int_type"),
        ("limit=1.5", "limit", "int_type"),
        ("limit=", "limit", "int_type"),
        ("offset=-1", "offset", "greater_than_equal"),
        ("sort=id", "sort", "enum"),
    ];
    for (query, place, slug) in faults {
        let answer = api.get(&format!("/v2/functions?{query}")).await;
        assert_eq!(
            answer.fault(),
            (422, json!(["query", place]), slug),
            "{query}"
        );
    }
}

#[tokio::test]
async fn twenty_functions_make_a_page() {
    let server = Server::start();
    let api = server.api();
    for number in 0..21 {
        api.function(json!({"name": format!("f{number}"), "instructions": "x"}))
            .await;
    }

    let list = api.get("/v2/functions").await.body;

    assert_eq!(
        (
            list["data"].as_array().unwrap().len(),
            &list["meta"]["total_count"]
        ),
        (20, &json!(21))
    );
    assert_eq!(
        api.get("/v2/functions?limit=100").await.body["data"]
            .as_array()
            .unwrap()
            .len(),
        21
    );
}

#[tokio::test]
async fn a_change_of_what_a_revision_fixes_makes_a_new_one() {
    let server = Server::start();
    let api = server.api();
    let first = api
        .function(json!({"name": "f", "instructions": "one", "model": "offline/echo"}))
        .await;
    let path = path(&first);
    let revision = async |change: Value| {
        let changed = api.patch(&path, change).await;
        assert_eq!(changed.status, 200, "{changed:?}");
        changed.body["revision_id"].as_str().unwrap().to_owned()
    };
    let first_revision = first["revision_id"].as_str().unwrap().to_owned();

    let unchanged = [
        json!({}),
        json!({"name": "g"}),
        json!({"description": "d"}),
        json!({"instructions": "one"}),
        json!({"instructions": null, "name": null}),
    ];
    for change in unchanged {
        assert_eq!(revision(change).await, first_revision);
    }
    let changes = [
        json!({"instructions": "two"}),
        json!({"input_schema": {"type": "string"}}),
        json!({"input_schema": null}),
        json!({"model": ["offline/echo", "offline/json"]}),
        json!({"model": null}),
        json!({"configuration": {"invocation.cache.ttl": 1}}),
    ];
    let mut seen = BTreeSet::from([first_revision.clone()]);
    for change in changes {
        assert!(seen.insert(revision(change.clone()).await), "{change}");
    }

    let revisions = api.get(&format!("{path}/revisions")).await.body;
    let listed: Vec<&str> = revisions["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["id"].as_str().unwrap())
        .collect();
    assert_eq!(revisions["meta"]["total_count"], 7);
    assert_eq!(
        listed.iter().copied().collect::<BTreeSet<_>>(),
        seen.iter().map(String::as_str).collect()
    );
    assert_eq!(
        listed.last(),
        Some(&first_revision.as_str()),
        "newest first"
    );
    assert_eq!(
        revisions["data"][0]["configuration"],
        json!({"invocation.cache.ttl": 1})
    );
    let old = api
        .get(&format!("{path}/revisions/{first_revision}"))
        .await
        .body;
    assert_eq!(
        (&old["instructions"], &old["revision_id"], &old["name"]),
        (&json!("one"), &json!(first_revision), &json!("g"))
    );
    let called = api
        .post(
            &format!("{path}/call/{first_revision}"),
            json!({"input": "hi"}),
        )
        .await;
    assert_eq!(called.body["message"], "hi", "old revisions stay callable");
}

#[tokio::test]
async fn a_change_leaves_merges_and_clears() {
    let server = Server::start();
    let api = server.api();
    let created = api
        .function(json!({"name": "f", "instructions": "x", "description": "d", "configuration": {"a": 1, "invocation.few_shot.count": 2}}))
        .await;
    let path = path(&created);

    let changed = api.patch(&path, json!({"configuration": {"invocation.few_shot.count": null, "b": {"c": 1.0}}, "description": null})).await;

    assert_eq!(
        changed.body["configuration"].to_string(),
        r#"{"a":1,"b":{"c":1.0}}"#
    );
    assert_eq!(changed.body["description"], Value::Null);
    assert_eq!(changed.body["instructions"], "x");
    assert_eq!(
        api.patch(&path, json!({"configuration": null})).await.body["configuration"],
        json!({})
    );
    let answer = api
        .patch(
            &path,
            json!({"configuration": {"invocation.few_shot.count": "2"}}),
        )
        .await;
    assert_eq!(
        answer.fault(),
        (
            422,
            json!(["body", "configuration", "invocation.few_shot.count"]),
            "int_type"
        )
    );
    assert_eq!(
        api.patch(&path, json!({"name": "a b"})).await.fault().2,
        "string_pattern_mismatch"
    );
    api.function(json!({"name": "taken", "instructions": "x"}))
        .await;
    assert_eq!(api.patch(&path, json!({"name": "taken"})).await.status, 409);
    assert_eq!(
        api.patch(&path, json!({"name": "free"})).await.body["name"],
        "free"
    );
    assert_eq!(api.get("/v2/functions/by-name/f").await.status, 404);
}

#[tokio::test]
async fn changes_at_once_form_one_line() {
    let server = Server::start();
    let created = server
        .api()
        .function(json!({"name": "f", "instructions": "0"}))
        .await;
    let changes = (0..32).map(|number| {
        let (api, path) = (server.api(), path(&created));
        tokio::spawn(async move {
            api.patch(
                &path,
                json!({"configuration": {format!("key{number}"): number}}),
            )
            .await
            .status
            .as_u16()
        })
    });

    for change in changes.collect::<Vec<_>>() {
        assert_eq!(change.await.unwrap(), 200);
    }

    let function = server.api().get(&path(&created)).await.body;
    assert_eq!(
        function["configuration"].as_object().unwrap().len(),
        32,
        "no change was lost"
    );
    let revisions = server
        .api()
        .get(&format!("{}/revisions?limit=100", path(&created)))
        .await
        .body;
    assert_eq!(revisions["meta"]["total_count"], 33);
    let sizes: Vec<usize> = revisions["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["configuration"].as_object().unwrap().len())
        .collect();
    assert_eq!(
        sizes,
        (0..=32).rev().collect::<Vec<_>>(),
        "each revision follows the one before"
    );
}

#[tokio::test]
async fn a_deleted_function_is_gone_and_its_spans_stay() {
    let server = Server::start();
    let api = server.api();
    let function = api.echo().await;
    let called = api.call(&function, json!({"input": "hi"})).await;
    let path = path(&function);

    let deleted = api.delete(&path).await;

    assert_eq!((deleted.status.as_u16(), deleted.text.as_str()), (204, ""));
    let revision = function["revision_id"].as_str().unwrap();
    for gone in [
        path.clone(),
        format!("{path}/revisions"),
        format!("{path}/revisions/{revision}"),
        "/v2/functions/by-name/f".to_owned(),
    ] {
        assert_eq!(api.get(&gone).await.status, 404, "{gone}");
    }
    assert_eq!(api.delete(&path).await.status, 404);
    assert_eq!(api.call(&function, json!({})).await.status, 404);
    assert_eq!(api.span(&called).await["output"], "hi");
    let again = api
        .function(json!({"name": "f", "instructions": "x"}))
        .await;
    assert_ne!(again["id"], function["id"]);
}

#[tokio::test]
async fn definitions_survive_a_kill() {
    let mut server = Server::start();
    let created = server
        .api()
        .function(json!({"name": "f", "instructions": "x", "model": "offline/echo"}))
        .await;

    server.restart_after_kill();

    let api: Api = server.api();
    assert_eq!(api.get(&path(&created)).await.body, created);
}
