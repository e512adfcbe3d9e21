//! Posts documents to a running server and judges what it read from them.
//!
//! `judge-documents --server http://127.0.0.1:8080 --token T --folder FOLDER`: the folder is what `make-documents` made.
//! Prints a table and ends with 1 when a bar of `ocr.md` 7 is missed. With `--answers FOLDER`, nothing is posted: the
//! answers are read from there (`NAME.json`), which `--save FOLDER` writes.

#![expect(clippy::print_stdout, reason = "the table is what the program is for")]

use std::{
    error::Error,
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
    time::{Duration, Instant},
};

use base64::{Engine, prelude::BASE64_STANDARD};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use testkit::{
    arguments::Arguments,
    client::Connection,
    documents::{
        Set, Truth,
        judge::{Reply, Verdict, judge},
    },
};
use tokio::{net::lookup_host, time::timeout};

mod table;

type Failure = Box<dyn Error + Send + Sync>;

/// Longer than any document may take.
const PATIENCE: Duration = Duration::from_secs(320);

/// Where answers come from, and where they go.
struct Post {
    address: String,
    token: String,
    model: String,
    answers: Option<PathBuf>,
    save: Option<PathBuf>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<ExitCode, Failure> {
    let arguments = Arguments::read(&[
        ("server", "http://127.0.0.1:8080"),
        ("token", ""),
        ("folder", "."),
        ("set", "all"),
        ("only", ""),
        ("model", "local/ocr"),
        ("answers", ""),
        ("save", ""),
        ("json", ""),
    ])?;
    let address = arguments.text("server").trim_start_matches("http://");
    let post = Post {
        address: address.trim_end_matches('/').to_owned(),
        token: arguments.text("token").to_owned(),
        model: arguments.text("model").to_owned(),
        answers: path(arguments.text("answers")),
        save: path(arguments.text("save")),
    };
    let folder = Path::new(arguments.text("folder"));
    let truths = truths(folder, arguments.text("set"), arguments.text("only"))?;
    let bar = ProgressBar::new(truths.len() as u64);
    bar.set_style(ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}")?);
    let mut verdicts = Vec::new();
    for truth in &truths {
        bar.set_message(truth.name.clone());
        if let Some(reply) = post.ask(truth, folder).await? {
            verdicts.push(judge(truth, &reply));
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    print!("{}", table::of(&verdicts));
    if let Some(path) = path(arguments.text("json")) {
        fs::write(path, serde_json::to_vec_pretty(&verdicts)?)?;
    }
    Ok(report(&verdicts))
}

impl Post {
    /// Asks for a document, or looks the answer up; nothing when there is none to look up.
    async fn ask(&self, truth: &Truth, folder: &Path) -> Result<Option<Reply>, Failure> {
        let kept = format!("{}.json", truth.name);
        if let Some(answers) = &self.answers {
            let path = answers.join(kept);
            if !path.exists() {
                return Ok(None);
            }
            let body: Value = serde_json::from_slice(&fs::read(path)?)?;
            let status = body["status"]
                .as_u64()
                .and_then(|status| status.try_into().ok());
            return Ok(Some(Reply {
                status: status.unwrap_or(200),
                body,
                seconds: None,
            }));
        }
        let content = fs::read(folder.join(&truth.file))?;
        let body = json!({
            "model": self.model,
            "include_image_base64": false,
            "document": {
                "type": "base64",
                "content": BASE64_STANDARD.encode(content),
                "document_name": truth.file,
            },
        });
        let reply = self.post(&body).await?;
        if let Some(save) = &self.save {
            fs::create_dir_all(save)?;
            let mut kept_body = reply.body.clone();
            if reply.status != 200 && kept_body.is_object() {
                kept_body["status"] = reply.status.into();
            }
            fs::write(save.join(kept), serde_json::to_vec_pretty(&kept_body)?)?;
        }
        Ok(Some(reply))
    }

    /// Posts over a connection of its own, so that one document's fate is no other's.
    async fn post(&self, body: &Value) -> Result<Reply, Failure> {
        let address = lookup_host(&self.address).await?.next();
        let address = address.ok_or_else(|| format!("`{}` has no address", self.address))?;
        let mut connection = Connection::open(address, &self.token).await?;
        let start = Instant::now();
        let answered = timeout(PATIENCE, connection.post("/v2/ocr", body)).await;
        let seconds = Some(start.elapsed().as_secs_f64());
        // A connection that breaks is a fault of the server, and is judged as one.
        let (status, body) = match answered {
            Ok(Ok(reply)) => (reply.status.as_u16(), reply.json()),
            _ => (0, Value::Null),
        };
        Ok(Reply {
            status,
            body,
            seconds,
        })
    }
}

/// The truths in a folder, set by set.
fn truths(folder: &Path, set: &str, only: &str) -> Result<Vec<Truth>, Failure> {
    let mut truths = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "json")
        {
            let truth: Truth = serde_json::from_slice(&fs::read(&path)?)
                .map_err(|error| format!("`{}`: {error}", path.display()))?;
            truths.push(truth);
        }
    }
    truths.retain(|truth| set == "all" || truth.set.name() == set);
    truths.retain(|truth| only.is_empty() || truth.name == only);
    truths.sort_by(|one, other| (one.set, &one.name).cmp(&(other.set, &other.name)));
    if truths.is_empty() {
        return Err(format!("no fixtures in `{}`", folder.display()).into());
    }
    Ok(truths)
}

fn report(verdicts: &[Verdict]) -> ExitCode {
    let mut missed = false;
    for verdict in verdicts {
        for bar in &verdict.missed {
            missed = true;
            println!("missed: {} / {}: {bar}", verdict.set.name(), verdict.name);
        }
    }
    if missed {
        return ExitCode::FAILURE;
    }
    let sets = Set::ALL.into_iter().filter(|set| {
        let mut judged = verdicts.iter();
        judged.any(|verdict| verdict.set == *set)
    });
    let sets: Vec<_> = sets.map(Set::name).collect();
    println!("every bar is reached: {}", sets.join(", "));
    ExitCode::SUCCESS
}

fn path(text: &str) -> Option<PathBuf> {
    (!text.is_empty()).then(|| text.into())
}
