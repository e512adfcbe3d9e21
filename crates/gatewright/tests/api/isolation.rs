//! Two projects, every route of the API document, every place where an id or a name can stand: `reliability.md` I1.
//!
//! The routes and what they take are read from the document; one that is not in the tables below fails the test.

use std::{sync::LazyLock, time::Instant};

use reqwest::Method;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::server::{ALPHA, Answer, BETA, Server, read};

static DOCUMENT: LazyLock<Value> = LazyLock::new(|| serde_json::from_str(api::document()).unwrap());

/// Stands in every name and text of alpha's, and in nothing else.
const MARK: &str = "zqalpha";

/// One route: its method, its path with holes, and what the document says of it.
struct Operation {
    method: Method,
    path: &'static str,
    told: &'static Value,
}

fn operations() -> Vec<Operation> {
    let paths = DOCUMENT["paths"].as_object().unwrap().iter();
    let of_path = |(path, operations): (&'static String, &'static Value)| {
        let operations = operations.as_object().unwrap().iter();
        operations.map(move |(method, told)| Operation {
            method: method.to_uppercase().parse().unwrap(),
            path,
            told,
        })
    };
    paths.flat_map(of_path).collect()
}

impl Operation {
    /// The names of the holes in the path.
    fn holes(&self) -> Vec<&'static str> {
        let parts = self.path.split('/');
        parts
            .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
            .collect()
    }

    /// The path with its holes filled, and with the query parameters that it cannot do without.
    fn at(&self, fill: impl Fn(&str) -> String) -> String {
        let mut path = self.path.to_owned();
        for hole in self.holes() {
            path = path.replace(&format!("{{{hole}}}"), &fill(hole));
        }
        let needed = self.parameters("query");
        let needed: Vec<String> = needed
            .filter(|parameter| parameter["required"] == true)
            .map(|parameter| format!("{}=x", parameter["name"].as_str().unwrap()))
            .collect();
        if needed.is_empty() {
            path
        } else {
            format!("{path}?{}", needed.join("&"))
        }
    }

    fn parameters(&self, place: &'static str) -> impl Iterator<Item = &'static Value> {
        let all = self.told["parameters"].as_array();
        all.into_iter()
            .flatten()
            .filter(move |parameter| parameter["in"] == place)
    }

    /// The members of the body in which an id or a name of something can stand.
    fn probed(&self) -> Vec<&'static str> {
        let schema = &self.told["requestBody"]["content"]["application/json"]["schema"];
        let Some(target) = schema["$ref"].as_str() else {
            return Vec::new();
        };
        let members = DOCUMENT.pointer(&target[1..]).unwrap()["properties"].as_object();
        let names = members.unwrap().keys().map(String::as_str);
        let is_probed = |name: &&str| {
            name.ends_with("_id")
                || ["id", "model", "fallback_models", "name", "dataset"].contains(name)
        };
        names.filter(is_probed).collect()
    }

    fn is(&self, route: &str) -> bool {
        route == format!("{} {}", self.method, self.path)
    }

    /// A body that a route takes. Panics for a route that nobody has told how to call.
    fn body(&self, own: &World) -> Option<Value> {
        if self.told["requestBody"].is_null() {
            return None;
        }
        let name = format!("n-{}", Uuid::new_v4());
        let called = json!({"input": "hi"});
        let body = match format!("{} {}", self.method, self.path).as_str() {
            "POST /v2/functions" => {
                json!({"name": name, "instructions": "x", "model": "offline/echo"})
            }
            "PATCH /v2/functions/{function_id}" => json!({"instructions": "y"}),
            "POST /v2/models/custom" => json!({"name": name, "identifier": "offline/echo"}),
            "PATCH /v2/models/custom/{model_id}" | "PATCH /v2/spans/{span_id}" => {
                json!({"name": name})
            }
            "POST /v2/models/aliases" => json!({"name": name, "fallback_models": ["offline/echo"]}),
            "PATCH /v2/models/aliases/{alias_id}" => json!({"description": "y"}),
            "POST /v2/spans" => json!({"name": name}),
            "POST /v2/spans/{span_id}/feedback" => json!({"score": 1, "save_to_dataset": true}),
            "POST /v2/spans/{span_id}/metrics" => json!({"dimension": "d", "value": 1}),
            "PATCH /v2/spans/{span_id}/metrics/{metric_id}" => json!({"value": 2}),
            "POST /v2/datasets/{dataset_id}" | "POST /v2/datasets/{dataset_id}/entries" => {
                json!({"input": "a", "output": "b"})
            }
            "PATCH /v2/datasets/{dataset_id}/entries/{entry_id}" => json!({"comment": "c"}),
            "POST /v2/functions/{function_id}/call"
            | "POST /v2/functions/{function_id}/call/{revision_id}"
            | "POST /v2/functions/{function_id}/call/stream"
            | "POST /v2/functions/{function_id}/call/stream/{revision_id}" => called,
            "POST /v2/call" | "POST /v2/call/stream" => {
                json!({"name": own.function_name, "instructions": "x", "model": "offline/echo", "input": "hi"})
            }
            "POST /v2/embeddings" => json!({"input": ["hi"], "model": "offline/embed"}),
            "POST /v2/rerank" => {
                json!({"query": "a", "documents": [{"text": "a"}], "model": "offline/rerank"})
            }
            "POST /v2/ocr" => {
                let document = json!({"type": "document_url", "document_url": "data:application/pdf;base64,JVBERi0="});
                json!({"model": "local/ocr", "document": document})
            }
            "POST /v2/openai/chat/completions" => {
                json!({"model": "offline/echo", "messages": [{"role": "user", "content": "hi"}]})
            }
            "POST /v2/openai/embeddings" => json!({"model": "offline/embed", "input": "hi"}),
            route => panic!("no row for the body of `{route}`"),
        };
        Some(body)
    }
}

/// What one project has: one of each thing.
#[derive(Debug)]
struct World {
    function: Uuid,
    function_name: String,
    revision: Uuid,
    dataset: Uuid,
    entry: Uuid,
    span: Uuid,
    metric: Uuid,
    model: Uuid,
    model_name: String,
    alias: Uuid,
    alias_name: String,
}

/// Speaks as one project, and is held to no document: half of what is said here is wrong on purpose.
struct Voice<'s> {
    server: &'s Server,
    client: reqwest::Client,
    token: &'static str,
}

impl Voice<'_> {
    async fn say(&self, method: &Method, path: &str, body: Option<&Value>) -> Answer {
        let mut request = self
            .client
            .request(method.clone(), format!("{}{path}", self.server.address))
            .bearer_auth(self.token);
        if let Some(body) = body {
            request = request.body(body.to_string());
        }
        read(request.send().await.unwrap()).await
    }

    async fn make(&self, path: &str, body: Value) -> Value {
        let answer = self.say(&Method::POST, path, Some(&body)).await;
        assert!(answer.status.is_success(), "{path}: {answer:?}");
        answer.body
    }

    /// One of each thing, all names and texts with `mark` in them.
    async fn world(&self, mark: &str) -> World {
        let id = |value: &Value| -> Uuid { value.as_str().unwrap().parse().unwrap() };
        let name = |what: &str| format!("{what}-{mark}-{}", Uuid::new_v4());
        let (function_name, model_name, alias_name) = (name("f"), name("m"), name("a"));
        let function =
            json!({"name": function_name, "instructions": mark, "model": "offline/echo"});
        let function = self.make("/v2/functions", function).await;
        let (function_id, dataset) = (id(&function["id"]), id(&function["dataset_id"]));
        let called = json!({"input": mark, "tags": {"t": mark}});
        let called = self
            .make(&format!("/v2/functions/{function_id}/call"), called)
            .await;
        let span = id(&called["span_id"]);
        let metric = json!({"dimension": mark, "value": 1});
        let metric = self
            .make(&format!("/v2/spans/{span}/metrics"), metric)
            .await;
        let entry = json!({"input": mark, "output": mark});
        let entry = self
            .make(&format!("/v2/datasets/{dataset}/entries"), entry)
            .await;
        let model = json!({"name": model_name, "identifier": "offline/echo"});
        let model = self.make("/v2/models/custom", model).await;
        let alias = json!({"name": alias_name, "fallback_models": ["offline/echo"]});
        let alias = self.make("/v2/models/aliases", alias).await;
        World {
            function: function_id,
            function_name,
            revision: id(&function["revision_id"]),
            dataset,
            entry: id(&entry["id"]),
            span,
            metric: id(&metric["id"]),
            model: id(&model["id"]),
            model_name,
            alias: id(&alias["id"]),
            alias_name,
        }
    }

    /// All that can be read of a project's things.
    async fn all_of(&self, world: &World) -> Vec<String> {
        let mut told = Vec::new();
        for operation in operations() {
            if operation.method == Method::GET && !operation.holes().is_empty() {
                let path = operation.at(|hole| world.own(operation.path, hole));
                let answer = self.say(&Method::GET, &path, None).await;
                assert_eq!(answer.status, 200, "{path}: {answer:?}");
                told.push(answer.text);
            }
        }
        told
    }
}

impl World {
    /// What fills a hole. Panics for one that nobody has told what stands in it.
    fn own(&self, path: &str, hole: &str) -> String {
        let id = match hole {
            "function_id" => self.function,
            "revision_id" => self.revision,
            "dataset_id" => self.dataset,
            "entry_id" => self.entry,
            "span_id" => self.span,
            "metric_id" => self.metric,
            "model_id" => self.model,
            "alias_id" => self.alias,
            "name" => return self.name(path).to_owned(),
            _ => panic!("no row for `{{{hole}}}` in `{path}`"),
        };
        id.to_string()
    }

    fn name(&self, path: &str) -> &str {
        if path.starts_with("/v2/functions") {
            &self.function_name
        } else if path.starts_with("/v2/models/aliases") {
            &self.alias_name
        } else {
            &self.model_name
        }
    }

    /// Every id and name, each with one of the same form that nothing has.
    fn with_doubles(&self) -> Vec<(String, String)> {
        let ids = [
            self.function,
            self.revision,
            self.dataset,
            self.entry,
            self.span,
            self.metric,
            self.model,
            self.alias,
        ];
        let ids = ids.map(|id| (id.to_string(), Uuid::now_v7().to_string()));
        let names = [&self.function_name, &self.model_name, &self.alias_name];
        let names = names.map(|name| {
            let cut = name.len() - 36;
            (name.clone(), format!("{}{}", &name[..cut], Uuid::new_v4()))
        });
        ids.into_iter().chain(names).collect()
    }
}

/// An answer without what differs between any two: the asked value, ids and numbers.
fn plain(answer: &Answer, asked: &str) -> (u16, String) {
    let text = answer.text.replace(asked, "<asked>");
    let characters: Vec<char> = text.chars().collect();
    let mut plain = String::new();
    let mut rest = &characters[..];
    while let Some((first, others)) = rest.split_first() {
        let id: String = rest.iter().take(36).collect();
        if Uuid::try_parse(&id).is_ok() {
            plain.push_str("<id>");
            rest = &rest[36..];
        } else {
            if !first.is_ascii_digit() || !plain.ends_with('0') {
                plain.push(if first.is_ascii_digit() { '0' } else { *first });
            }
            rest = others;
        }
    }
    (answer.status.as_u16(), plain)
}

fn voices(server: &Server) -> (Voice<'_>, Voice<'_>) {
    let voice = |token| Voice {
        server,
        client: reqwest::Client::new(),
        token,
    };
    (voice(ALPHA), voice(BETA))
}

#[tokio::test]
async fn on_every_route_a_foreign_id_is_as_good_as_a_random_one() {
    let server = Server::start();
    let (alpha, beta) = voices(&server);
    let theirs = alpha.world(MARK).await;
    let before = alpha.all_of(&theirs).await;
    let (mut rows, mut asked) = (0, 0);

    for operation in operations() {
        let (method, path) = (&operation.method, operation.path);
        let own = beta.world("own").await;
        let body = operation.body(&own);
        for hole in operation.holes() {
            let with = async |value: &str| {
                let path = operation.at(|other| {
                    if other == hole {
                        value.to_owned()
                    } else {
                        own.own(path, other)
                    }
                });
                beta.say(method, &path, body.as_ref()).await
            };
            let foreign_value = theirs.own(path, hole);
            let random_value = if hole == "name" {
                format!("x-{MARK}-{}", Uuid::new_v4())
            } else {
                Uuid::now_v7().to_string()
            };

            let (foreign, random) = (with(&foreign_value).await, with(&random_value).await);

            assert_eq!(random.status, 404, "{method} {path}, {hole}: {random:?}");
            assert_eq!(
                foreign.text, random.text,
                "{method} {path}, {hole}: foreign and random"
            );
            assert_eq!(foreign.status, random.status, "{method} {path}, {hole}");
            if hole != "name" {
                for malformed in [
                    "x",
                    "0",
                    &foreign_value[..35],
                    &foreign_value.replace('-', ""),
                ] {
                    let answer = with(malformed).await;
                    assert_eq!(answer.status, 422, "{method} {path}, {hole}: {answer:?}");
                }
            }
            asked += 1;
        }
        if operation.holes().len() > 1 {
            let all = operation.at(|hole| theirs.own(path, hole));
            let answer = beta.say(method, &all, body.as_ref()).await;
            assert_eq!(answer.status, 404, "{method} {all}: {answer:?}");
        }
        let path = operation.at(|hole| own.own(path, hole));
        let answer = beta.say(method, &path, body.as_ref()).await;
        let is_fine = answer.status.is_success() || operation.is("POST /v2/ocr");
        assert!(is_fine, "its own: {method} {path}: {answer:?}");
        assert!(!answer.text.contains(MARK), "{method} {path}: {answer:?}");
        rows += 1;
    }

    assert_eq!(alpha.all_of(&theirs).await, before, "nothing was changed");
    println!("{rows} routes, {asked} places of ids");
    assert!(rows >= 54 && asked >= 45, "{rows} routes, {asked} places");
}

#[tokio::test]
async fn in_every_body_a_foreign_id_or_name_is_as_good_as_a_random_one() {
    let server = Server::start();
    let (alpha, beta) = voices(&server);
    let mut asked = 0;

    for operation in operations() {
        for member in operation.probed() {
            // A name that was taken in one round is beta's own in the next.
            let (theirs, own) = (alpha.world(MARK).await, beta.world("own").await);
            let before = alpha.all_of(&theirs).await;
            for (foreign, random) in theirs.with_doubles() {
                let forms: &[fn(&str) -> Value] = match member {
                    "model" => &[
                        |value| json!(value),
                        |value| json!({"name": value}),
                        |value| json!([value]),
                    ],
                    "fallback_models" => &[|value| json!([value])],
                    _ => &[|value| json!(value)],
                };
                for form in forms {
                    let mut told = Vec::new();
                    for value in [&foreign, &random] {
                        let mut body = operation.body(&own).unwrap();
                        body[member] = form(value);
                        let path = operation.at(|hole| own.own(operation.path, hole));
                        let answer = beta.say(&operation.method, &path, Some(&body)).await;
                        assert_ne!(answer.status, 409, "{body}");
                        let answer = Answer {
                            text: answer.text.replace(&own.function_name, "<own>"),
                            ..answer
                        };
                        told.push(plain(&answer, value));
                    }

                    assert_eq!(
                        told[0], told[1],
                        "{} {}: `{member}`: foreign and random",
                        operation.method, operation.path
                    );
                    asked += 1;
                }
            }
            assert_eq!(alpha.all_of(&theirs).await, before, "nothing was changed");
        }
    }

    println!("{asked} places in bodies");
    assert!(asked > 200, "{asked}");
}

#[tokio::test]
async fn lists_and_their_counts_are_those_of_a_project_that_is_alone() {
    let server = Server::start();
    let (alpha, beta) = voices(&server);
    let own = beta.world("own").await;
    let lists = async || {
        let mut told = Vec::new();
        for operation in operations() {
            let is_list = operation.holes().is_empty() || operation.path.ends_with('s');
            if operation.method != Method::GET || !is_list {
                continue;
            }
            let path = operation.at(|hole| own.own(operation.path, hole));
            let mut paths = vec![path.clone()];
            for parameter in operation.parameters("query") {
                let name = parameter["name"].as_str().unwrap();
                for value in [MARK, "0", "1", "created_at", "name"] {
                    paths.push(format!("{path}?{name}={value}"));
                }
            }
            for path in paths {
                let answer = beta.say(&Method::GET, &path, None).await;
                told.push((path, answer.status.as_u16(), answer.text));
            }
        }
        told
    };
    let alone = lists().await;

    let theirs = alpha.world(MARK).await;
    alpha.world(MARK).await;
    let beside = lists().await;

    assert_eq!(alone, beside);
    assert!(alone.len() > 30, "{}", alone.len());
    let told = serde_json::to_string(&beside).unwrap();
    for (secret, _) in theirs.with_doubles() {
        assert!(!told.contains(&secret));
    }
}

#[tokio::test]
async fn what_is_taken_in_one_project_is_free_in_another() {
    let server = Server::start();
    let (alpha, beta) = voices(&server);
    let theirs = alpha.world(MARK).await;
    let before = alpha.all_of(&theirs).await;
    let taken = [
        ("/v2/spans", json!({"id": theirs.span, "name": "mine"})),
        (
            "/v2/spans",
            json!({"id": Uuid::now_v7(), "name": "mine", "trace_id": theirs.span}),
        ),
        (
            "/v2/functions",
            json!({"name": theirs.function_name, "instructions": "mine"}),
        ),
        (
            "/v2/models/custom",
            json!({"name": theirs.model_name, "identifier": "offline/echo"}),
        ),
        (
            "/v2/models/aliases",
            json!({"name": theirs.alias_name, "fallback_models": ["offline/echo"]}),
        ),
    ];

    for (path, body) in taken {
        let first = beta.say(&Method::POST, path, Some(&body)).await;
        let second = beta.say(&Method::POST, path, Some(&body)).await;

        assert!(first.status.is_success(), "{path}: {first:?}");
        assert_eq!(second.status, 409, "{path}: {second:?}");
    }

    let path = format!("/v2/spans/{}", theirs.span);
    let mine = beta.say(&Method::GET, &path, None).await;
    assert_eq!(mine.body["name"], "mine");
    let dropped = beta.say(&Method::DELETE, &path, None).await;
    assert_eq!(dropped.status, 204);
    assert_eq!(alpha.all_of(&theirs).await, before);
    let adopted = json!({"name": "x", "instructions": "x", "id": theirs.function, "dataset_id": theirs.dataset});
    let adopted = beta.make("/v2/functions", adopted).await;
    assert_ne!(adopted["id"], json!(theirs.function));
    assert_ne!(adopted["dataset_id"], json!(theirs.dataset));
}

#[tokio::test]
async fn names_that_lead_on_lead_to_nothing_of_others() {
    let server = Server::start();
    let (alpha, beta) = voices(&server);
    let theirs = alpha.world(MARK).await;
    let mut told = Vec::new();

    for target in [
        &theirs.model_name,
        &theirs.alias_name,
        &format!("m-{MARK}-no"),
    ] {
        let alias = json!({"name": format!("to-{target}"), "fallback_models": [target]});
        beta.make("/v2/models/aliases", alias).await;
        let mut function = Map::new();
        function.insert("name".to_owned(), json!(format!("f-{target}")));
        function.insert("instructions".to_owned(), json!("x"));
        function.insert("model".to_owned(), json!(format!("to-{target}")));
        let function = beta.make("/v2/functions", Value::Object(function)).await;
        let path = format!("/v2/functions/{}/call", function["id"].as_str().unwrap());
        let answer = beta
            .say(&Method::POST, &path, Some(&json!({"input": "hi"})))
            .await;
        told.push(plain(&answer, target));
    }

    assert_eq!(told[0].0, 400, "{told:?}");
    assert!(told.iter().all(|one| *one == told[0]), "{told:?}");
}

#[tokio::test]
async fn every_route_wants_the_token_first() {
    let server = Server::start();
    let (alpha, _) = voices(&server);
    let theirs = alpha.world(MARK).await;
    let known = operations();
    let paths = known
        .iter()
        .map(|operation| operation.at(|hole| theirs.own(operation.path, hole)));
    let unknown = [
        "/v2",
        "/v2/",
        "/v2/nothing",
        "/v2/functions/x/y/z",
        "/v2/../v2/functions",
        "/v2//functions",
        "/v2/healthz",
        "/v2/functions;x",
    ];
    let paths: Vec<String> = paths.chain(unknown.map(str::to_owned)).collect();
    let client = reqwest::Client::new();
    let mut told = std::collections::BTreeSet::new();
    let mut asked = 0;

    for path in &paths {
        for method in ["GET", "POST", "PATCH", "DELETE", "PUT", "OPTIONS", "TRACE"] {
            for token in [None, Some(format!("{ALPHA}x"))] {
                let url = format!("{}{path}", server.address);
                let mut request = client.request(method.parse().unwrap(), url);
                request = request.body(r#"{"name": 3"#);
                if let Some(token) = token {
                    request = request.bearer_auth(token);
                }
                let answer = read(request.send().await.unwrap()).await;
                told.insert((answer.status.as_u16(), answer.text));
                asked += 1;
            }
        }
    }

    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told.first().unwrap().0, 401);
    println!("{asked} requests without a token, one refusal");
}

/// A foreign id takes as long as a random one: what differs is less than what a network adds.
#[tokio::test]
async fn a_foreign_id_takes_no_longer_than_a_random_one() {
    let server = Server::start();
    let (alpha, beta) = voices(&server);
    let theirs = alpha.world(MARK).await;
    let mut ms = [Vec::new(), Vec::new()];

    for _ in 0..200 {
        for (times, id) in ms.iter_mut().zip([theirs.span, Uuid::now_v7()]) {
            let began = Instant::now();
            beta.say(&Method::GET, &format!("/v2/spans/{id}"), None)
                .await;
            times.push(began.elapsed().as_secs_f64() * 1000.0);
        }
    }

    let [foreign, random] = ms.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    });
    println!("foreign {foreign:.3} ms, random {random:.3} ms at the median of 200");
    assert!((foreign - random).abs() < 1.0, "{foreign} and {random}");
}
