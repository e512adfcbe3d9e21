//! OCR: `interface.md` 7. The documents are the generator's own, each drawn from a seed.

use std::{fs, path::Path, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use testkit::{
    Answer, Received, Script,
    documents::{Fixture, Recipe, Set},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

use crate::server::{self, Api, Server};

const PATH: &str = "/v2/ocr";
const SEED: u64 = 11;

/// The document of that name.
fn fixture(set: Set, name: &str) -> Fixture {
    let recipes = Recipe::of(set);
    let recipe = recipes.iter().find(|recipe| recipe.name == name);
    recipe.expect(name).make(SEED)
}

/// The body of a request for `local/ocr`, with some members more.
fn body(bytes: &[u8], more: &Value) -> Value {
    let document = json!({"type": "base64", "content": STANDARD.encode(bytes)});
    let mut body = json!({"model": "local/ocr", "document": document});
    let members = more.as_object().unwrap().clone();
    body.as_object_mut().unwrap().extend(members);
    body
}

async fn read(api: &Api, bytes: &[u8], more: &Value) -> server::Answer {
    api.post(PATH, body(bytes, more)).await
}

/// Where a host is that answers every request with these bytes.
async fn host(bytes: Vec<u8>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let authority = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut asked = [0; 4096];
            let _ = stream.read(&mut asked).await;
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", bytes.len());
            let _ = stream.write_all(&[head.as_bytes(), &bytes].concat()).await;
        }
    });
    authority
}

#[tokio::test]
async fn a_document_is_read_without_a_key_and_its_span_is_there_at_once() {
    let server = Server::start();
    let api = server.api();
    let Fixture { truth, bytes } = fixture(Set::Digital, "letter");

    let answer = read(&api, &bytes, &json!({})).await;

    assert_eq!(answer.status, 200, "{answer:?}");
    let body = &answer.body;
    assert_eq!(body["model"], "local/ocr");
    let pages = body["pages"].as_array().unwrap();
    assert_eq!(pages.len() as u64, u64::from(truth.page_count));
    let words: Vec<&str> = truth.pages[0].blocks[0].text.split_whitespace().collect();
    let markdown = pages[0]["markdown"].as_str().unwrap();
    assert!(markdown.contains(words[0]), "{markdown}");
    let element = &pages[0]["elements"][0];
    assert_eq!(element["bbox"]["coord_origin"], "TOPLEFT");
    assert_eq!(element["data"]["source"], "text_layer");
    let usage = &body["usage_info"];
    assert_eq!(
        json!([
            usage["pages_processed"],
            usage["doc_size_bytes"],
            usage["applied_settings"]["ocr_pages"]
        ]),
        json!([truth.page_count, bytes.len(), []])
    );
    assert_eq!(
        body["cost"],
        json!({"generation": 0.0, "platform": 0.0, "total": 0.0})
    );

    let span = api.span(&answer).await;
    assert_eq!(
        json!([
            span["type"],
            span["meta"]["pages_done"],
            span["meta"]["pages_total"],
            span["meta"]["document"]["bytes"]
        ]),
        json!(["ocr", truth.page_count, truth.page_count, bytes.len()])
    );
    assert_eq!(span["output"]["pages"][0]["markdown"], pages[0]["markdown"]);
    assert!(
        !span.to_string().contains(&STANDARD.encode(&bytes[..60])),
        "no bytes in the span"
    );
}

#[tokio::test]
async fn a_scan_is_recognised_where_it_has_no_text() {
    let server = Server::start();
    let Fixture { truth, bytes } = fixture(Set::Clean, "scan-200-bits");

    let answer = read(&server.api(), &bytes, &json!({})).await;

    assert_eq!(answer.status, 200, "{answer:?}");
    let page = &answer.body["pages"][0];
    let element = &page["elements"][0];
    assert_eq!(element["data"]["source"], "ocr", "{element}");
    assert!(
        element["data"]["confidence"].as_f64().unwrap() > 0.5,
        "{element}"
    );
    assert_eq!(
        answer.body["usage_info"]["applied_settings"]["ocr_engine"],
        "tesseract"
    );
    let long = |word: &&str| word.len() > 5;
    let known: Vec<&str> = truth.pages[0].blocks[0]
        .text
        .split_whitespace()
        .filter(long)
        .collect();
    let markdown = page["markdown"].as_str().unwrap();
    assert!(
        known.iter().any(|word| markdown.contains(word)),
        "{known:?} in {markdown}"
    );
}

#[tokio::test]
async fn pages_come_ascending_whatever_their_order_and_those_that_are_not_there_are_named() {
    let server = Server::start();
    let api = server.api();
    let Fixture { truth, bytes } = fixture(Set::Digital, "long-prose");
    let count = truth.page_count;
    let indices = |answer: &server::Answer| -> Vec<u64> {
        let pages = answer.body["pages"].as_array().expect(&answer.text).iter();
        pages.map(|page| page["index"].as_u64().unwrap()).collect()
    };

    let some = read(&api, &bytes, &json!({"pages": [7, 2, 7]})).await;
    assert_eq!(indices(&some), [2, 7]);
    assert_eq!(some.body["usage_info"]["pages_processed"], 2);
    let all = read(&api, &bytes, &json!({"pages": []})).await;
    assert_eq!(indices(&all), (0..u64::from(count)).collect::<Vec<_>>());

    let beyond = read(&api, &bytes, &json!({"pages": [0, count]})).await;
    assert_eq!(
        beyond.fault(),
        (422, json!(["body", "pages"]), "invalid_pages")
    );
    assert!(
        beyond.text.contains(&format!("{count} pages")),
        "{}",
        beyond.text
    );
    let negative = read(&api, &bytes, &json!({"pages": [0, -1]})).await;
    assert_eq!(
        negative.fault(),
        (422, json!(["body", "pages", 1]), "greater_than_equal")
    );
}

#[tokio::test]
async fn of_a_document_of_too_many_pages_some_can_be_named() {
    let server = Server::start_with(&[("GATEWRIGHT_OCR__MAX_PAGES", "3")]);
    let api = server.api();
    let Fixture { truth, bytes } = fixture(Set::Digital, "long-prose");
    let last = truth.page_count - 1;

    let all = read(&api, &bytes, &json!({})).await;
    let some = read(&api, &bytes, &json!({"pages": [0, last]})).await;

    assert_eq!(
        all.fault(),
        (422, json!(["body", "pages"]), "invalid_pages")
    );
    assert!(all.text.contains("at most 3 are read at once"), "{all:?}");
    assert_eq!(some.status, 200, "{some:?}");
    assert_eq!(some.body["pages"][1]["index"], last);
}

#[tokio::test]
async fn pictures_come_with_their_bytes_only_when_asked_and_no_more_than_asked() {
    let server = Server::start();
    let api = server.api();
    let Fixture { bytes, .. } = fixture(Set::Digital, "pictures");
    let images = |answer: &server::Answer| -> Vec<Value> {
        let pages = answer.body["pages"].as_array().expect(&answer.text).iter();
        let images = pages.flat_map(|page| page["images"].as_array().unwrap().clone());
        images.collect()
    };

    let plain = images(&read(&api, &bytes, &json!({})).await);
    assert!(
        plain.len() > 2 && plain.iter().all(|image| image["image_base64"].is_null()),
        "{plain:?}"
    );
    let ids: Vec<&Value> = plain.iter().map(|image| &image["id"]).collect();
    assert!(
        ids[1].as_str().unwrap().starts_with("img-1."),
        "counted over the document: {ids:?}"
    );
    assert!(plain[0]["top_left_x"].is_i64() && plain[0]["bottom_right_y"].is_i64());

    let with_bytes = read(
        &api,
        &bytes,
        &json!({"include_image_base64": true, "image_limit": 1}),
    )
    .await;
    for page in with_bytes.body["pages"].as_array().unwrap() {
        let kept = page["images"].as_array().unwrap();
        assert!(kept.len() <= 1, "{kept:?}");
        for image in kept {
            let url = image["image_base64"].as_str().unwrap();
            let (head, data) = url.split_once(";base64,").unwrap();
            assert!(head.starts_with("data:image/"), "{head}");
            STANDARD.decode(data).unwrap();
        }
        let marks = page["markdown"].as_str().unwrap().matches("![img-").count();
        assert_eq!(marks, kept.len(), "no mark without its picture: {page}");
    }
    let large = read(&api, &bytes, &json!({"image_min_size": 100_000})).await;
    assert_eq!(images(&large), [Value::Null; 0]);
}

#[tokio::test]
async fn a_document_is_fetched_from_where_it_may_be_fetched_and_nowhere_else() {
    let Fixture { bytes, .. } = fixture(Set::Digital, "letter");
    let open = host(bytes.clone()).await;
    let closed = host(bytes.clone()).await;
    let nothing = host(b"<html>not found</html>".to_vec()).await;
    let allowed = json!([open, nothing]).to_string();
    let server = Server::start_with(&[("GATEWRIGHT_EGRESS__ALLOW_DOCUMENTS", &allowed)]);
    let api = server.api();
    let from = |url: String| {
        let document = json!({"type": "document_url", "document_url": url});
        api.post(PATH, json!({"model": "local/ocr", "document": document}))
    };

    let fetched = from(format!("http://{open}/a/letter.pdf?signature=s3cret")).await;
    assert_eq!(fetched.status, 200, "{fetched:?}");
    let span = api.span(&fetched).await;
    assert_eq!(
        span["input"]["document"]["url"],
        format!("http://{open}/a/letter.pdf")
    );
    assert!(!span.to_string().contains("s3cret"));

    let refused = from(format!("http://{closed}/letter.pdf")).await;
    assert_eq!(
        (refused.status.as_u16(), refused.class()),
        (400, "BadRequestError"),
        "{refused:?}"
    );
    let detail = &refused.body["detail"];
    assert_eq!(detail["reason"], "url_not_allowed");
    let explained = detail["explanation"].as_str().unwrap();
    assert!(explained.contains("egress.allow_documents"), "{explained}");
    let with_user = from(format!("http://me:pw@{open}/letter.pdf")).await;
    let explained = with_user.body["detail"]["explanation"].to_string();
    assert!(
        explained.contains("a user or a password") && !with_user.text.contains("pw@"),
        "{with_user:?}"
    );
    let kept = api.span(&with_user).await["input"]["document"]["url"].clone();
    assert_eq!(kept, format!("http://{open}/letter.pdf"));
    let page = from(format!("http://{nothing}/letter.pdf")).await;
    assert_eq!(
        page.fault(),
        (422, json!(["body", "document"]), "unsupported_document")
    );
    let nowhere = from("ftp://host/x.pdf".to_owned()).await;
    assert_eq!(nowhere.fault().2, "document_fetch_failed");
    let data = from(format!(
        "DATA:application/pdf;base64,{}",
        STANDARD.encode(&bytes)
    ))
    .await;
    assert_eq!(data.status, 200, "{data:?}");
    assert_eq!(api.span(&data).await["input"]["document"]["url"], "data:");
}

#[tokio::test]
async fn what_is_wrong_with_a_request_is_said_with_its_place() {
    let server = Server::start();
    let api = server.api();
    let document = json!({"type": "base64", "content": "JVBERi0="});
    for (request, place, slug) in [
        (
            json!({"document": document}),
            json!(["body", "model"]),
            "missing",
        ),
        (
            json!({"model": "local/ocr"}),
            json!(["body", "document"]),
            "missing",
        ),
        (
            json!({"model": "local/ocr", "document": {"document_url": "https://x"}}),
            json!(["body", "document", "type"]),
            "missing",
        ),
        (
            json!({"model": "local/ocr", "document": {"type": "document_url", "image_url": "https://x"}}),
            json!(["body", "document", "document_url"]),
            "missing",
        ),
        (
            json!({"model": "local/ocr", "document": {"type": "file", "file": "x"}}),
            json!(["body", "document", "type"]),
            "value_error",
        ),
        (
            json!({"model": "local/ocr", "document": {"type": "base64", "content": "@@@"}}),
            json!(["body", "document", "content"]),
            "value_error",
        ),
        (
            json!({"model": "local/ocr", "document": document, "image_limit": 0}),
            json!(["body", "image_limit"]),
            "greater_than_equal",
        ),
        (
            json!({"model": "local/ocr", "document": document, "image_min_size": "9"}),
            json!(["body", "image_min_size"]),
            "int_type",
        ),
        (
            json!({"model": "local/ocr", "document": document, "docling_extra": {"force_ocr": "yes"}}),
            json!(["body", "docling_extra", "force_ocr"]),
            "bool_type",
        ),
        (
            json!({"model": "local/ocr", "document": document, "mistral_extra": {"table_format": "csv"}}),
            json!(["body", "mistral_extra", "table_format"]),
            "value_error",
        ),
        (
            json!({"model": "local/ocr", "document": document, "vendorA_extra": {"table_format": 1}}),
            json!(["body", "vendorA_extra", "table_format"]),
            "string_type",
        ),
    ] {
        let answer = api.post(PATH, request.clone()).await;
        assert_eq!(answer.fault(), (422, place, slug), "{request}");
    }
    let base64 = STANDARD.encode(b"%PDF-1.7 and nothing more");
    let beside = json!({"type": "base64", "content": base64, "document_url": 7, "image_url": {}});
    let beside = api
        .post(PATH, json!({"model": "local/ocr", "document": beside}))
        .await;
    assert!(beside.text.contains("invalid_document"), "{beside:?}");
    let wrong = json!({"type": "document_url", "document_url": 7});
    let wrong = api
        .post(PATH, json!({"model": "local/ocr", "document": wrong}))
        .await;
    let place = json!(["body", "document", "document_url"]);
    assert_eq!(wrong.fault(), (422, place, "string_type"));
    let unknown = json!({"model": "local/ocr", "document": {"type": "pdf"}});
    let unknown = api.post(PATH, unknown).await.text;
    assert!(
        unknown.contains("must be one of `document_url`, `image_url`, `base64`"),
        "{unknown}"
    );
    for (model, said) in [
        ("local/other", "local/ocr"),
        ("nowhere/ocr", "nowhere"),
        ("offline/echo", "reading documents"),
        ("vision/nowhere/m", "nowhere"),
    ] {
        let answer = api
            .post(PATH, json!({"model": model, "document": document}))
            .await;
        assert_eq!(
            (answer.status.as_u16(), answer.class()),
            (400, "BadRequestError"),
            "{answer:?}"
        );
        assert!(answer.text.contains(said), "{}", answer.text);
    }
}

#[tokio::test]
async fn the_engine_of_this_machine_is_listed_first_then_what_a_project_says_of_its_own() {
    let server = Server::start_with(&[("MISTRAL_API_KEY", "k")]);
    let api = server.api();
    let own = json!({"name": "reader", "identifier": "mistral/mistral-ocr-9", "extra": {"ocr": true, "cost_per_page": 0.0125}});
    assert_eq!(api.post("/v2/models/custom", own).await.status, 200);

    let listed = api.get("/v2/ocr/models").await;

    let data = listed.body["data"].as_array().unwrap();
    assert_eq!(listed.body["meta"]["total_count"], data.len());
    assert_eq!(
        data[0],
        json!({"hosting_provider": "local", "name": "local/ocr", "location": "local", "cost_per_page": 0.0})
    );
    assert_eq!(
        data[1],
        json!({"hosting_provider": "mistral", "name": "mistral/mistral-ocr-latest", "location": "eu", "cost_per_page": 0.004})
    );
    let last = data.last().unwrap();
    assert_eq!(
        json!([last["name"], last["cost_per_page"]]),
        json!(["reader", 0.0125])
    );
}

#[tokio::test]
async fn without_the_program_for_scans_a_text_layer_is_read_and_a_scan_says_what_to_install() {
    let server = Server::start_with(&[("GATEWRIGHT_OCR__TESSERACT", "/nowhere/tesseract")]);
    let api = server.api();

    let digital = fixture(Set::Digital, "letter");
    let read_all = read(&api, &digital.bytes, &json!({})).await;
    assert_eq!(read_all.status, 200, "{read_all:?}");

    let scan = fixture(Set::Clean, "image-png");
    let refused = read(&api, &scan.bytes, &json!({})).await;
    assert_eq!(
        (refused.status.as_u16(), refused.class()),
        (400, "BadRequestError"),
        "{refused:?}"
    );
    assert!(
        refused.text.contains("apt-get install tesseract-ocr"),
        "{}",
        refused.text
    );
    assert_eq!(
        api.get("/v2/ocr/models").await.body["data"][0]["name"],
        "local/ocr"
    );
}

#[tokio::test]
async fn a_model_that_sees_is_shown_the_pages_and_is_paid_by_tokens() {
    let script = Script::by(|request: &Received| {
        let body = request.json();
        let shown = body["messages"][1]["content"][0]["image_url"]["url"]
            .as_str()
            .unwrap();
        assert!(shown.starts_with("data:image/png;base64,"));
        Answer::text("```markdown\n# Seen\n```")
    });
    let (server, upstream) = Server::with_upstream(script).await;
    let api = server.api();
    let Fixture { bytes, .. } = fixture(Set::Digital, "long-prose");

    let answer = read(
        &api,
        &bytes,
        &json!({"model": "vision/house/m", "pages": [3, 1]}),
    )
    .await;

    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.body["model"], "vision/house/m");
    let pages = answer.body["pages"].as_array().unwrap();
    assert_eq!(
        json!([
            pages[0]["index"],
            pages[1]["index"],
            pages[0]["markdown"],
            pages[0]["images"]
        ]),
        json!([1, 3, "# Seen", []])
    );
    let long = pages[0]["dimensions"]["height"]
        .as_u64()
        .max(pages[0]["dimensions"]["width"].as_u64());
    assert!(
        long.is_some_and(|long| long <= 1600),
        "{}",
        pages[0]["dimensions"]
    );
    assert_eq!(upstream.requests().len(), 2);
    let span = api.span(&answer).await;
    assert_eq!(span["meta"]["attempts"], 2);
    assert!(span["meta"]["usage"]["total_tokens"].as_u64().unwrap() > 0);
}

#[tokio::test]
async fn what_is_meant_to_break_the_reader_is_refused_in_time_and_breaks_nothing() {
    let server = Server::start();
    let api = server.api();
    for recipe in Recipe::of(Set::Hostile) {
        let Fixture { truth, bytes } = recipe.make(SEED);
        let began = std::time::Instant::now();
        let answer = read(&api, &bytes, &json!({})).await;
        let took = began.elapsed();
        let status = answer.status.as_u16();
        assert!(
            status == 200 || (400..500).contains(&status),
            "{}: {answer:?}",
            truth.name
        );
        assert!(
            took < Duration::from_mins(1),
            "{} took {took:?}",
            truth.name
        );
    }
    // Whoever comes next notices nothing.
    let next = read(&api, &fixture(Set::Digital, "letter").bytes, &json!({})).await;
    assert_eq!(next.status, 200);
}

#[tokio::test]
async fn a_document_that_takes_too_long_is_told_by_its_word() {
    let server = Server::start_with(&[("GATEWRIGHT_OCR__TIMEOUT_SECONDS", "0.05")]);
    let api = server.api();
    let Fixture { bytes, .. } = fixture(Set::Clean, "image-png");

    let late = read(&api, &bytes, &json!({})).await;

    assert_eq!(
        (late.status.as_u16(), late.class()),
        (504, "UpstreamTimeoutError"),
        "{late:?}"
    );
    assert_eq!(late.body["detail"]["reason"], "ocr_timeout");
    assert_eq!(api.span(&late).await["meta"]["pages_done"], 0);
}

#[tokio::test]
async fn a_caller_who_leaves_takes_the_processes_along() {
    let server = Server::start();
    let api = server.api();
    let Fixture { bytes, .. } = fixture(Set::Hard, "noise-specks-shade-150");
    let under = || children(server.process_id());

    let asked = api.post(PATH, body(&bytes, &json!({})));
    let left = tokio::time::timeout(Duration::from_millis(600), asked).await;
    assert!(left.is_err(), "the page takes longer than that");

    for _ in 0..50 {
        if under() == 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("{} processes are left", under());
}

#[tokio::test]
async fn a_page_with_text_waits_behind_no_page_that_is_recognised() {
    let server = Server::start_with(&[("GATEWRIGHT_OCR__WORKERS", "1")]);
    let api = server.api();
    let scan = fixture(Set::Clean, "scan-200-bits").bytes;
    let letter = fixture(Set::Digital, "letter").bytes;
    let answered = std::sync::Mutex::new(Vec::new());
    let ask = async |bytes: &[u8], name: &'static str| {
        let answer = read(&api, bytes, &json!({})).await;
        assert_eq!(answer.status, 200, "{name}: {answer:?}");
        answered.lock().unwrap().push(name);
    };
    let text = async {
        while children(server.process_id()) < 3 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        ask(&letter, "text").await;
    };

    tokio::join!(
        ask(&scan, "scan"),
        ask(&scan, "scan"),
        ask(&scan, "scan"),
        text
    );

    let answered = answered.lock().unwrap();
    let place = answered.iter().position(|name| *name == "text");
    assert!(place < Some(2), "{answered:?}");
}

/// How many processes a process has started that still run.
fn children(parent: u32) -> usize {
    let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let stats = processes.filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok());
    let is_child = |stat: &String| {
        let rest = stat.rsplit(')').next().unwrap_or_default();
        let mut fields = rest.split_whitespace();
        let state = fields.next();
        state != Some("Z") && fields.next().and_then(|id| id.parse().ok()) == Some(parent)
    };
    stats.filter(is_child).count()
}

#[tokio::test]
async fn the_command_line_reads_a_document_into_a_folder() {
    let server = Server::start();
    let Fixture { bytes, .. } = fixture(Set::Digital, "pictures");
    let file = server.dir.path().join("report.pdf");
    fs::write(&file, &bytes).unwrap();
    let out = server.dir.path().join("out");
    let (file, folder) = (file.to_str().unwrap(), out.to_str().unwrap());

    let done = server.command(&["ocr", file, "--out", folder, "--pages", "0"]);

    let said = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(
        done.status.success() && said.contains("1 page, "),
        "{done:?}"
    );
    let answer: Value =
        serde_json::from_slice(&fs::read(out.join("document.json")).unwrap()).unwrap();
    let markdown = fs::read_to_string(out.join("document.md")).unwrap();
    assert_eq!(
        markdown.trim_end(),
        answer["pages"][0]["markdown"].as_str().unwrap()
    );
    for image in answer["pages"][0]["images"].as_array().unwrap() {
        assert!(
            Path::new(folder)
                .join(image["id"].as_str().unwrap())
                .is_file(),
            "{image}"
        );
    }

    let missing = server.command(&["ocr", "/nowhere/x.pdf"]);
    assert!(String::from_utf8_lossy(&missing.stderr).contains("cannot read /nowhere/x.pdf"));
    let beyond = server.command(&["ocr", file, "--pages", "900", "--out", folder]);
    assert!(
        String::from_utf8_lossy(&beyond.stderr).contains("page 900 was asked for"),
        "{beyond:?}"
    );
}
