//! `gatewright backup` and `restore`: from a server under calls to another place, with the same master key and without.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Output,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use testkit::{Answer, Upstream};

use crate::server::{ALPHA, Api, Server, binary};

const MODEL_KEY: &str = "sk-of-the-custom-model";

fn run(arguments: &[&str], data_dir: &Path, environment: &[(&str, &str)]) -> (i32, String, String) {
    let output: Output = binary()
        .args(arguments)
        .arg("--data-dir")
        .arg(data_dir)
        .envs(environment.iter().copied())
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let code = output.status.code().unwrap();
    (code, text(output.stdout), text(output.stderr))
}

/// A server with a function that asks a custom model with a key of its own.
struct Origin {
    server: Server,
    upstream: Upstream,
    function: Value,
    environment: Vec<(&'static str, String)>,
}

impl Origin {
    async fn start() -> Self {
        let upstream = Upstream::start(Answer::text("hi").after(Duration::from_millis(3))).await;
        let environment = vec![
            (
                "GATEWRIGHT_EGRESS__ALLOW",
                json!([upstream.authority()]).to_string(),
            ),
            ("GATEWRIGHT_OBSERVER__ENABLED", "false".to_owned()),
        ];
        let server = Server::start_with(&borrowed(&environment));
        let api = server.api();
        api.model("mine", &upstream.base_url()).await;
        let function = json!({"name": "f", "instructions": "x", "model": "mine"});
        let function = api.function(function).await;
        Self {
            server,
            upstream,
            function,
            environment,
        }
    }

    fn master_key(&self) -> String {
        let key = fs::read_to_string(self.data_dir().join("master.key")).unwrap();
        key.trim().to_owned()
    }

    fn data_dir(&self) -> PathBuf {
        self.server.dir.path().join("data")
    }

    fn file(&self) -> PathBuf {
        self.server.dir.path().join("backup")
    }

    fn back_up(&self) -> (i32, String, String) {
        let file = self.file();
        run(&["backup", file.to_str().unwrap()], &self.data_dir(), &[])
    }
}

fn borrowed<'e>(environment: &'e [(&'static str, String)]) -> Vec<(&'e str, &'e str)> {
    let pairs = environment.iter();
    pairs.map(|(name, value)| (*name, value.as_str())).collect()
}

/// Calls until it is over, and notes the span of each answer.
async fn call_on(
    api: Api,
    function: Value,
    answered: Arc<Mutex<Vec<String>>>,
    is_over: Arc<AtomicBool>,
) {
    while !is_over.load(Ordering::SeqCst) {
        let answer = api.call(&function, json!({"input": "hello"})).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let span = answer.headers["x-span-id"].to_str().unwrap().to_owned();
        answered.lock().unwrap().push(span);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_of_a_server_under_calls_answers_the_same_elsewhere() {
    let origin = Origin::start().await;
    let (api, answered) = (origin.server.api(), Arc::default());
    let is_over = Arc::new(AtomicBool::new(false));
    let callers: Vec<_> = (0..6)
        .map(|_| {
            let (answered, is_over) = (Arc::clone(&answered), is_over.clone());
            tokio::spawn(call_on(
                api.clone(),
                origin.function.clone(),
                answered,
                is_over,
            ))
        })
        .collect();
    while answered.lock().unwrap().len() < 60 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let before: Vec<String> = answered.lock().unwrap().clone();

    let origin = tokio::task::spawn_blocking(move || {
        let done = origin.back_up();
        assert_eq!(done.0, 0, "{done:?}");
        assert!(done.1.starts_with("wrote "), "{done:?}");
        assert!(done.2.contains("master.key too, and apart"), "{done:?}");
        origin
    });
    let origin = origin.await.unwrap();
    is_over.store(true, Ordering::SeqCst);
    for caller in callers {
        caller.await.unwrap();
    }
    let meanwhile = answered.lock().unwrap().len();

    let (file, key) = (origin.file(), origin.master_key());
    let mut environment = origin.environment.clone();
    environment.push(("GATEWRIGHT_MASTER_KEY", key));
    let mut other = Server::start_with(&borrowed(&environment));
    other.stop().await;
    let place = other.dir.path().join("data");
    let restore = ["restore", file.to_str().unwrap()];
    let occupied = run(&restore, &place, &borrowed(&environment));
    let forced = run(
        &[&restore[..], &["--force"]].concat(),
        &place,
        &borrowed(&environment),
    );
    other.start_again();

    assert!(meanwhile > before.len());
    assert_eq!((occupied.0, occupied.1.as_str()), (1, ""), "{occupied:?}");
    assert!(occupied.2.contains("--force"), "{occupied:?}");
    assert_eq!(forced.0, 0, "{forced:?}");
    assert!(forced.1.contains("provider keys: 1"), "{forced:?}");
    let there = other.api();
    for id in &before {
        let path = format!("/v2/spans/{id}");
        let (was, is) = (api.get(&path).await, there.get(&path).await);
        assert_eq!((is.status.as_u16(), is.text), (200, was.text));
    }
    for path in ["/v2/functions", "/v2/models/custom"] {
        assert_eq!(there.get(path).await.text, api.get(path).await.text);
    }
    assert_eq!(
        there
            .call(&origin.function, json!({"input": "hello"}))
            .await
            .status,
        200
    );
    let asked = origin.upstream.requests().pop().unwrap();
    let bearer = format!("Bearer {MODEL_KEY}");
    assert_eq!(asked.header("authorization"), Some(bearer.as_str()));
}

#[tokio::test]
async fn no_secret_stands_in_a_backup_in_clear() {
    let origin = Origin::start().await;
    origin
        .server
        .api()
        .call(&origin.function, json!({"input": "hello"}))
        .await;

    let done = origin.back_up();

    assert_eq!(done.0, 0, "{done:?}");
    let bytes = fs::read(origin.file()).unwrap();
    let key = origin.master_key();
    for secret in [MODEL_KEY, ALPHA, key.as_str()] {
        let is_there = bytes
            .windows(secret.len())
            .any(|part| part == secret.as_bytes());
        assert!(!is_there);
    }
    assert!(bytes.windows(5).any(|part| part == b"hello"));
}

#[tokio::test]
async fn a_restore_without_the_right_master_key_says_so_and_touches_nothing() {
    let origin = Origin::start().await;
    assert_eq!(origin.back_up().0, 0);
    let file = origin.file();
    let place = origin.server.dir.path().join("elsewhere");
    let restore = ["restore", file.to_str().unwrap()];
    let other_key = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";

    let none = run(&restore, &place, &[]);
    let wrong = run(&restore, &place, &[("GATEWRIGHT_MASTER_KEY", other_key)]);

    for (refused, words) in [
        (&none, "there is none in the file"),
        (&wrong, "sealed with another master key"),
    ] {
        assert_eq!((refused.0, refused.1.as_str()), (1, ""), "{refused:?}");
        for words in [words, "set GATEWRIGHT_MASTER_KEY", "--without-key"] {
            assert!(refused.2.contains(words), "{words} in {refused:?}");
        }
    }
    assert!(!place.exists());

    let later = run(&[&restore[..], &["--without-key"]].concat(), &place, &[]);
    let start = run(&["serve", "--listen", "127.0.0.1:0"], &place, &[]);

    assert_eq!(later.0, 0, "{later:?}");
    assert!(later.2.contains("until then no server starts"), "{later:?}");
    assert_eq!(start.0, 1);
    assert!(start.2.contains("is missing"), "{start:?}");
    assert!(!place.join("master.key").exists());
}

#[tokio::test]
async fn a_restore_under_a_running_server_is_refused() {
    let origin = Origin::start().await;
    assert_eq!(origin.back_up().0, 0);

    let file = origin.file();
    let arguments = ["restore", file.to_str().unwrap(), "--force"];
    let refused = run(&arguments, &origin.data_dir(), &[]);

    let server = format!("a server, process {}", origin.server.process_id());
    assert_eq!(refused.0, 1);
    assert!(refused.2.contains(&server), "{refused:?}");
    let called = origin.server.api().call(&origin.function, json!({})).await;
    assert_eq!(called.status, 200);
}
