//! What calls cost, by whose word, and counting it again.

use std::{fs, path::Path, time::Duration};

use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::{Answer, Script, Upstream};

use crate::server::{Api, Server};

const PRICES: &str = "[models.\"mine/*\"]\ninput = \"0.15\"\noutput = 0.6\nper_request = 0.001\n";

/// A folder with a price file and a configuration that names it.
fn folder(prices: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), prices);
    folder
}

fn write(folder: &Path, prices: &str) {
    let file = folder.join("prices.toml");
    let config = format!("[prices]\nmarkup = 0.5\nfile = '{}'\n", file.display());
    fs::write(file, prices).unwrap();
    fs::write(folder.join("g.toml"), config).unwrap();
}

async fn call(api: &Api, model: &str) -> Value {
    let function = json!({"name": "f", "instructions": "Anything.", "model": model});
    let answer = api.post("/v2/call", function).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let span = answer.body["span_id"].as_str().unwrap();
    api.get(&format!("/v2/spans/{span}")).await.body
}

fn priced(meta: &Value) -> (&Value, &Value, &Value) {
    let tried = &meta["models_tried"][0];
    (&meta["cost"], &meta["cost_status"], &tried["price"])
}

#[tokio::test]
async fn a_call_costs_what_the_operators_file_says() {
    let upstream = Upstream::start([Answer::text("hi").usage(1_000, 10)]).await;
    let folder = folder(PRICES);
    let file = folder.path().join("prices.toml");
    let server = Server::start_with(&[
        ("GATEWRIGHT_PROVIDERS__MINE__API_BASE", &upstream.base_url()),
        ("GATEWRIGHT_PRICES__FILE", file.to_str().unwrap()),
        ("GATEWRIGHT_PRICES__MARKUP", "0.5"),
    ]);

    let span = call(&server.api(), "mine/llama").await;

    // 1,000 x 150 + 10 x 600 nano-USD and 0.001 USD, and half of that.
    let (cost, status, price) = priced(&span["meta"]);
    assert_eq!(
        *cost,
        json!({"generation": 0.001_156, "platform": 0.000_578, "total": 0.001_734})
    );
    assert_eq!(status, "exact");
    let price = price.as_str().unwrap();
    assert!(
        price.starts_with("file prices.toml-") && price.ends_with(" mine/llama (not by the book)"),
        "{price}"
    );
}

#[tokio::test]
async fn what_a_host_takes_for_its_own_tools_comes_beside_the_price() {
    let answer = || Answer::text("hi").usage(1_000, 10);
    let upstream = Upstream::start([answer(), answer(), answer()]).await;
    let folder = folder(PRICES);
    let file = folder.path().join("prices.toml");
    let server = Server::start_with(&[
        ("GATEWRIGHT_PROVIDERS__MINE__API_BASE", &upstream.base_url()),
        ("GATEWRIGHT_PRICES__FILE", file.to_str().unwrap()),
    ]);
    let api = server.api();
    let ask = async |tools: Value| {
        let model = json!({"name": "mine/llama", "options": {"tools": tools}});
        let body = json!({"model": model, "messages": [{"role": "user", "content": "x"}]});
        let answer = api.post("/v2/openai/chat/completions", body).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        api.span(&answer).await["meta"].clone()
    };

    let own = ask(json!([{"type": "function", "function": {"name": "f"}}])).await;
    let of_host = ask(json!([{"type": "web_search"}])).await;

    let (cost, status, price) = priced(&own);
    assert_eq!(
        (&cost["total"], status),
        (&json!(0.001_156), &json!("exact"))
    );
    let (same, about, with_fees) = priced(&of_host);
    assert_eq!((same, about), (cost, &json!("estimated")));
    let expected = format!("{} (and fees)", price.as_str().unwrap());
    assert_eq!(with_fees.as_str(), Some(expected.as_str()));
}

#[tokio::test]
async fn at_another_address_the_book_does_not_hold() {
    let answer = || Answer::text("hi").usage(1_000, 10);
    let upstream = Upstream::start([answer(), answer(), answer()]).await;
    let server = Server::start_with(&[
        (
            "GATEWRIGHT_PROVIDERS__OPENAI__API_BASE",
            &upstream.base_url(),
        ),
        (
            "GATEWRIGHT_EGRESS__ALLOW",
            &format!("[\"{}\"]", upstream.authority()),
        ),
    ]);
    let api = server.api();
    let nothing = json!({"generation": 0.0, "platform": 0.0, "total": 0.0});

    let span = call(&api, "openai/gpt-4o").await;

    let (cost, status, price) = priced(&span["meta"]);
    assert_eq!((cost, status), (&nothing, &json!("unknown")));
    assert_eq!(price, "unpriced openai/gpt-4o (not by the book)");

    let own = |extra: Value| {
        let mut extra = extra;
        extra["api_base"] = json!(upstream.base_url());
        json!({"name": format!("m{}", extra.as_object().unwrap().len()), "identifier": "openai/gpt-4o", "extra": extra})
    };
    api.post("/v2/models/custom", own(json!({}))).await;
    let span = call(&api, "m1").await;
    let (cost, status, price) = priced(&span["meta"]);
    assert_eq!((cost, status), (&nothing, &json!("unknown")));
    assert_eq!(price, "unpriced");

    let extra = json!({
        "input_cost_per_token": 0.000_000_15, "output_cost_per_token": 6e-7, "cost_per_request": 0.001,
        "cost_per_page": 1, "cost_per_image": 1,
    });
    api.post("/v2/models/custom", own(extra)).await;
    let span = call(&api, "m6").await;
    let (cost, status, price) = priced(&span["meta"]);
    assert_eq!(
        (&cost["total"], status),
        (&json!(0.001_156), &json!("exact"))
    );
    assert_eq!(price, "custom model");
}

#[tokio::test]
async fn a_cost_that_the_host_reports_is_the_cost_whatever_the_price() {
    let answer = || {
        Answer::text("hi")
            .usage(1_000, 10)
            .header("x-litellm-response-cost", "0.0025")
    };
    let (server, upstream) = Server::with_upstream(vec![answer(), answer()]).await;
    let api = server.api();
    let extra = json!({"api_base": upstream.base_url(), "input_cost_per_token": 1, "output_cost_per_token": 1});
    let own = json!({"name": "m", "identifier": "openai/gpt-4o", "extra": extra});
    api.post("/v2/models/custom", own).await;

    for (model, word) in [
        ("house/a", "unpriced house/a (not by the book)"),
        ("m", "custom model"),
    ] {
        let meta = call(&api, model).await["meta"].clone();

        let (cost, status, price) = priced(&meta);
        assert_eq!(
            (cost["generation"].as_f64(), status),
            (Some(0.0025), &json!("exact"))
        );
        assert_eq!(price, word);
        assert_eq!(meta["models_tried"][0]["reported_cost"], 0.0025);
    }
}

/// Runs the command: its status, and what it says.
fn reprice(server: &Server, config: &Path, further: &[&str]) -> (Option<i32>, String, String) {
    let arguments = ["spans", "reprice", "--config", config.to_str().unwrap()];
    let output = server.command(&[&arguments[..], further].concat());
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

#[tokio::test]
async fn history_is_counted_again_beside_a_running_server() {
    let upstream = Upstream::start([
        Answer::text("hi").usage(1_000, 10),
        Answer::text("ho").usage(2_000, 0),
    ])
    .await;
    let server =
        Server::start_with(&[("GATEWRIGHT_PROVIDERS__MINE__API_BASE", &upstream.base_url())]);
    let api = server.api();
    let (one, _) = (
        call(&api, "mine/llama").await,
        call(&api, "mine/llama").await,
    );
    call(&api, "offline/echo").await;
    assert_eq!(one["meta"]["cost_status"], "unknown");
    assert_eq!(
        one["meta"]["models_tried"][0]["price"],
        "unpriced mine/llama (not by the book)"
    );
    let folder = folder(PRICES);
    let config = folder.path().join("g.toml");
    let reprice = |further: &[&str]| reprice(&server, &config, further);
    let told = |verb: &str, count: u64| {
        format!(
            "MODEL       REQUESTS  BEFORE (USD)  NOW (USD)  DIFFERENCE\n\
             mine/llama  2         0             0.002456   +0.002456\n\
             {verb} {count} of 3 spans: +0.002456 USD\n"
        )
    };

    // What is not wanted is not touched.
    let nothing = "changed 0 of 0 spans: 0 USD\n".to_owned();
    let past = reprice(&["--since", "2020-01-01", "--until", "2020-01-02"]);
    assert_eq!(past, (Some(0), nothing.clone(), String::new()));
    let beta = reprice(&["--since", "2020-01-01", "--project", "beta"]);
    assert_eq!(beta, (Some(0), nothing, String::new()));
    let dry = reprice(&["--since", "2020-01-01", "--dry-run"]);
    assert_eq!(dry, (Some(0), told("would change", 2), String::new()));
    let span = format!("/v2/spans/{}", one["id"].as_str().unwrap());
    assert_eq!(api.get(&span).await.body, one);

    let done = reprice(&["--since", "2020-01-01", "--project", "alpha"]);

    assert_eq!(done, (Some(0), told("changed", 2), String::new()));
    let now = api.get(&span).await.body;
    let cost = json!({"generation": 0.001_156, "platform": 0.000_578, "total": 0.001_734});
    let (found, status, price) = priced(&now["meta"]);
    assert_eq!((found, status), (&cost, &json!("exact")));
    assert!(price.as_str().unwrap().starts_with("file prices.toml-"));
    assert_eq!(now["meta"]["models_tried"][0]["cost"], cost);
    let mut rest = now.clone();
    for member in ["cost", "cost_status", "models_tried"] {
        rest["meta"][member] = one["meta"][member].clone();
    }
    assert_eq!(rest, one);
    let again = reprice(&["--since", "2020-01-01"]);
    assert_eq!(again.1, "changed 0 of 3 spans: 0 USD\n");

    // A price that goes down, for the calls of now on too.
    write(
        folder.path(),
        "[models.\"mine/llama\"]\ninput = 0\noutput = 0\n",
    );
    let (_, cheaper, _) = reprice(&["--since", "2020-01-01"]);
    assert!(
        cheaper.ends_with("changed 2 of 3 spans: -0.002456 USD\n"),
        "{cheaper}"
    );
    let unknown = reprice(&["--since", "2020-01-01", "--project", "nobody"]);
    assert_eq!(unknown.0, Some(1));
    assert!(
        unknown.2.contains("there is no project `nobody`"),
        "{unknown:?}"
    );
}

#[tokio::test]
async fn what_is_spent_beside_the_calls_is_counted_again_too() {
    let upstream = Upstream::start(Script::by(|request| {
        let body = request.json();
        match (body["model"].as_str().unwrap(), &body["input"]) {
            ("embed", Value::Array(texts)) => Answer::embeddings(vec![vec![1.0]; texts.len()]),
            ("embed", _) => Answer::embeddings(vec![vec![1.0]]),
            _ => Answer::json(&json!({"score": 42, "observations": "dull"})).usage(100, 0),
        }
    }))
    .await;
    let mut server = Server::start_with(&[
        ("GATEWRIGHT_PROVIDERS__MINE__API_BASE", &upstream.base_url()),
        ("GATEWRIGHT_MODELS__DEFAULT_EMBEDDING", "mine/embed"),
        ("GATEWRIGHT_OBSERVER__JUDGE", "mine/judge"),
    ]);
    let api = server.api();
    let function = api.echo().await;
    let dataset = function["dataset_id"].as_str().unwrap();
    let entry = json!({"input": "a", "output": "b"});
    api.post(&format!("/v2/datasets/{dataset}"), entry).await;
    let folder = folder(PRICES);
    let config = folder.path().join("g.toml");
    let since = ["--since", "2020-01-01"];

    // Both are asked in the background.
    api.call(&function, json!({"input": "a"})).await;
    for _ in 0..100 {
        let (_, told, _) = reprice(&server, &config, &[&since[..], &["--dry-run"]].concat());
        if told.contains("mine/embed") && told.contains("mine/judge") {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    server.stop().await;
    let (_, told, _) = reprice(&server, &config, &since);

    let row = |model: &str| -> Vec<String> {
        let mut lines = told.lines();
        let line = lines.find(|line| line.starts_with(model)).expect(&told);
        line.split_whitespace().map(str::to_owned).collect()
    };
    // 100 x 150 nano-USD and 0.001 USD; for each request 8 x 150 nano-USD and 0.001 USD.
    assert_eq!(row("mine/judge")[1..4], ["1", "0", "0.001015"]);
    let embedded = row("mine/embed");
    let requests: u32 = embedded[1].parse().unwrap();
    let cost = format!("{:.7}", f64::from(requests) * 0.001_001_2);
    assert_eq!(embedded[2..4], ["0", cost.trim_end_matches('0')]);
    let again = reprice(&server, &config, &since).1;
    assert!(again.starts_with("changed 0 of "), "{again}");
}

#[tokio::test]
async fn an_errand_of_several_requests_is_counted_again_request_by_request() {
    let vectors = vec![vec![0.5; 2]; 2];
    let upstream = Upstream::start(Answer::embeddings(vectors)).await;
    let server =
        Server::start_with(&[("GATEWRIGHT_PROVIDERS__MINE__API_BASE", &upstream.base_url())]);
    let api = server.api();
    let texts = vec!["x".repeat(149_000); 4];
    let asked = json!({"input": texts, "model": "mine/embed"});
    let answer = api.post("/v2/embeddings", asked).await;
    let tried = &api.span(&answer).await["meta"]["models_tried"][0];
    assert_eq!(tried["requests"], 2);
    assert_eq!(
        tried["usage_each"],
        json!([{"requests": 2, "input_tokens": 8}])
    );
    let folder = folder(
        "[models.\"mine/*\"]\ninput = 1\noutput = 0\nper_request = 0.001\nabove = { tokens = 10, input = 100, output = 0 }\n",
    );
    let config = folder.path().join("g.toml");
    let reprice = || {
        let since = [
            "--since",
            "2020-01-01",
            "--config",
            config.to_str().unwrap(),
        ];
        let output = server.command(&[&["spans", "reprice"][..], &since].concat());
        String::from_utf8(output.stdout).unwrap()
    };

    let (first, again) = (reprice(), reprice());

    // Twice 8 x 1,000 nano-USD and 0.001 USD, and half of that; no request is as long as the two together.
    let meta = api.span(&answer).await["meta"].clone();
    assert_eq!(
        meta["cost"],
        json!({"generation": 0.002_016, "platform": 0.001_008, "total": 0.003_024}),
        "{first}"
    );
    assert_eq!(meta["cost_status"], "exact");
    assert_eq!(again, "changed 0 of 1 spans: 0 USD\n");
}

#[tokio::test]
async fn what_a_client_says_that_a_call_took_is_none_of_the_record() {
    let server = Server::start_with(&[]);
    let api = server.api();
    let attempt = json!({"model": "m", "price": "book v openai/gpt-4o", "usage": {"input_tokens": 1_000_000_000}});
    let span = json!({"name": "mine", "meta": {"models_tried": [attempt]}});
    let span = api.post("/v2/spans", span).await.body;

    let output = server.command(&["spans", "reprice", "--since", "2020-01-01"]);

    let told = String::from_utf8(output.stdout).unwrap();
    assert_eq!(told, "changed 0 of 0 spans: 0 USD\n");
    let path = format!("/v2/spans/{}", span["id"].as_str().unwrap());
    assert_eq!(api.get(&path).await.body, span);
}
