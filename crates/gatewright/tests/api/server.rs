//! A running server and a client for it.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, mpsc},
    time::Duration,
};

use reqwest::{Method, StatusCode, header::HeaderMap};
use serde::Deserialize;
use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::{Script, Upstream};

use crate::contract;

/// Tokens of two projects, accepted by every server of these tests.
pub const ALPHA: &str = "alpha-token-0123456789-abcdef";
pub const BETA: &str = "beta-token-0123456789-abcdefg";

/// The real binary, on a free port with a data directory of its own.
pub struct Server {
    pub address: String,
    pub dir: TempDir,
    environment: BTreeMap<String, String>,
    child: Child,
    log: Log,
    client: reqwest::Client,
}

/// The lines of a server's log, as far as they have come.
type Log = Arc<Mutex<Vec<Value>>>;

/// A client of one server with one token.
#[derive(Clone)]
pub struct Api {
    pub base: String,
    token: String,
    client: reqwest::Client,
}

/// An answer, read to its end.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub text: String,
    pub body: Value,
}

impl Server {
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts with further environment variables.
    pub fn start_with(environment: &[(&str, &str)]) -> Self {
        let mut all = BTreeMap::from([(
            "GATEWRIGHT_BOOTSTRAP_TOKENS".to_owned(),
            format!("alpha:{ALPHA},beta:{BETA}"),
        )]);
        all.extend(
            environment
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
        );
        let dir = tempfile::tempdir().unwrap();
        let log = Log::default();
        let (child, address) = spawn(&dir, &all, &log);
        Self {
            address,
            dir,
            environment: all,
            child,
            log,
            client: reqwest::Client::new(),
        }
    }

    /// With an upstream that the provider `house` is, and that may be a custom model's address too.
    pub async fn with_upstream(script: impl Into<Script>) -> (Self, Upstream) {
        Self::with_upstream_and(script, &[]).await
    }

    /// The same with further environment variables.
    pub async fn with_upstream_and(
        script: impl Into<Script>,
        environment: &[(&str, &str)],
    ) -> (Self, Upstream) {
        let upstream = Upstream::start(script).await;
        let (base, allow) = (
            upstream.base_url(),
            json!([upstream.authority()]).to_string(),
        );
        let house = ("GATEWRIGHT_PROVIDERS__HOUSE__API_BASE", base.as_str());
        let own = [house, ("GATEWRIGHT_EGRESS__ALLOW", &allow)];
        (Self::start_with(&[&own, environment].concat()), upstream)
    }

    /// Kills the process at once and starts another one on the same data.
    pub fn restart_after_kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        self.start_again();
    }

    /// Asks the process to end, and says how it ended.
    pub async fn stop(&mut self) -> Option<i32> {
        let id = i32::try_from(self.child.id()).unwrap();
        let id = rustix::process::Pid::from_raw(id).unwrap();
        rustix::process::kill_process(id, rustix::process::Signal::TERM).unwrap();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// What another process of this server finds in its environment.
    pub fn set(&mut self, variable: &str, value: &str) {
        self.environment
            .insert(variable.to_owned(), value.to_owned());
    }

    /// Starts another process on the same data.
    pub fn start_again(&mut self) {
        (self.child, self.address) = spawn(&self.dir, &self.environment, &self.log);
    }

    /// What the log has said at this level.
    pub fn logged(&self, level: &str) -> Vec<Value> {
        let log = self.log.lock().unwrap();
        let lines = log.iter().filter(|line| line["level"] == level);
        lines.cloned().collect()
    }

    /// All that the log has said.
    pub fn log(&self) -> String {
        let log = self.log.lock().unwrap();
        let lines: Vec<String> = log.iter().map(ToString::to_string).collect();
        lines.join("\n")
    }

    /// Sends a signal until the process ends, and says how it did: what is said to a handler of its own first is done to it
    /// the second time.
    pub fn end_by(&mut self, signal: rustix::process::Signal) -> std::process::ExitStatus {
        let id = i32::try_from(self.child.id()).unwrap();
        let id = rustix::process::Pid::from_raw(id).unwrap();
        loop {
            rustix::process::kill_process(id, signal).unwrap();
            std::thread::sleep(Duration::from_millis(50));
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
        }
    }

    pub fn process_id(&self) -> u32 {
        self.child.id()
    }

    /// As project alpha.
    pub fn api(&self) -> Api {
        self.api_with(ALPHA)
    }

    pub fn api_with(&self, token: &str) -> Api {
        Api {
            base: self.address.clone(),
            token: token.to_owned(),
            client: self.client.clone(),
        }
    }

    /// Runs another command of the binary on the same data directory.
    pub fn command(&self, arguments: &[&str]) -> std::process::Output {
        binary()
            .args(arguments)
            .arg("--data-dir")
            .arg(self.dir.path().join("data"))
            .current_dir(self.dir.path())
            .output()
            .unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The binary with nothing of the surrounding environment, and one certificate authority: reading the machine's for each of
/// its clients takes most of an unoptimised start, and nothing here is reached by https.
pub fn binary() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gatewright"));
    let authority = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/api/authority.pem");
    command.env_clear().env("SSL_CERT_FILE", authority);
    command
}

fn spawn(dir: &TempDir, environment: &BTreeMap<String, String>, log: &Log) -> (Child, String) {
    let mut child = binary()
        .args(["serve", "--listen", "127.0.0.1:0", "--data-dir"])
        .arg(dir.path().join("data"))
        .current_dir(dir.path())
        .envs(environment)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (found, address) = mpsc::channel();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let log = log.clone();
    // The log is read to its end, so that the server never waits for its reader.
    std::thread::spawn(move || {
        for line in lines.map_while(Result::ok) {
            let line: Value = serde_json::from_str(&line).unwrap_or(Value::String(line));
            match line["address"].as_str() {
                Some(address) => drop(found.send(address.to_owned())),
                None => eprintln!("server: {line}"),
            }
            log.lock().unwrap().push(line);
        }
    });
    let address = address
        .recv_timeout(Duration::from_secs(20))
        .expect("the server says where it listens");
    (child, address)
}

impl Api {
    pub async fn send(&self, method: Method, path: &str, body: Option<&Value>) -> Answer {
        let text = body.map(ToString::to_string);
        let answer = self.send_text(method.clone(), path, text).await;
        contract::hold(&method, path, body, &answer);
        answer
    }

    /// Sends a body as it stands; the request is not held to the document, the answer is.
    pub async fn send_text(&self, method: Method, path: &str, body: Option<String>) -> Answer {
        let mut request = self
            .client
            .request(method.clone(), format!("{}{path}", self.base))
            .bearer_auth(&self.token);
        if let Some(body) = body {
            request = request
                .header("content-type", "application/json")
                .body(body);
        }
        let answer = read(request.send().await.unwrap()).await;
        contract::hold_answer(&method, path, &answer);
        answer
    }

    /// Sends a request whose answer is a stream, and reads its head alone.
    pub async fn open_stream(&self, path: &str, body: &Value) -> reqwest::Response {
        let request = self
            .client
            .post(format!("{}{path}", self.base))
            .bearer_auth(&self.token)
            .header("content-type", "application/json")
            .body(body.to_string());
        request.send().await.unwrap()
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, None).await
    }

    pub async fn post(&self, path: &str, body: Value) -> Answer {
        self.send(Method::POST, path, Some(&body)).await
    }

    pub async fn patch(&self, path: &str, body: Value) -> Answer {
        self.send(Method::PATCH, path, Some(&body)).await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        self.send(Method::DELETE, path, None).await
    }

    /// Creates a function, and returns it.
    pub async fn function(&self, body: Value) -> Value {
        let answer = self.post("/v2/functions", body).await;
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.body
    }

    /// Creates a function `f` that answers with its input.
    pub async fn echo(&self) -> Value {
        self.function(json!({"name": "f", "instructions": "x", "model": "offline/echo"}))
            .await
    }

    /// Registers a custom model under `name` at `api_base`.
    pub async fn model(&self, name: &str, api_base: &str) -> Value {
        let body = json!({
            "name": name, "identifier": "openai/tiny", "api_key": "sk-of-the-custom-model",
            "extra": {"api_base": api_base, "input_cost_per_token": 0.000_001, "output_cost_per_token": 0.000_002},
        });
        let answer = self.post("/v2/models/custom", body).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.body
    }

    /// Calls a function at the revision that it names.
    pub async fn call(&self, function: &Value, body: Value) -> Answer {
        let (id, revision) = (
            function["id"].as_str().unwrap(),
            function["revision_id"].as_str().unwrap(),
        );
        self.post(&format!("/v2/functions/{id}/call/{revision}"), body)
            .await
    }

    /// The span of an answer.
    pub async fn span(&self, answer: &Answer) -> Value {
        let id = answer.headers["x-span-id"].to_str().unwrap();
        let span = self.get(&format!("/v2/spans/{id}")).await;
        assert_eq!(span.status, 200, "{span:?}");
        span.body
    }
}

/// Reads an answer to its end.
pub async fn read(response: reqwest::Response) -> Answer {
    let (status, headers) = (response.status(), response.headers().clone());
    let text = response.text().await.unwrap();
    let mut reader = serde_json::Deserializer::from_str(&text);
    reader.disable_recursion_limit();
    let body = Value::deserialize(&mut reader).unwrap_or_default();
    Answer {
        status,
        headers,
        text,
        body,
    }
}

impl Answer {
    /// The class of an error, after checking the shape that every error has.
    pub fn class(&self) -> &str {
        let members: Vec<&String> = self.body.as_object().expect(&self.text).keys().collect();
        assert_eq!(members, ["type", "message", "detail"], "{self:?}");
        assert!(!self.body["detail"].is_null(), "{self:?}");
        self.body["type"].as_str().unwrap()
    }

    /// Status, place and slug of a refused request's only fault.
    pub fn fault(&self) -> (u16, Value, &str) {
        assert_eq!(self.class(), "RequestValidationError", "{self:?}");
        let faults = self.body["detail"].as_array().expect(&self.text);
        assert_eq!(faults.len(), 1, "{self:?}");
        (
            self.status.as_u16(),
            faults[0]["loc"].clone(),
            faults[0]["type"].as_str().unwrap(),
        )
    }
}
