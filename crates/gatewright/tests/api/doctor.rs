//! `gatewright doctor`: what it finds, what it says to do, and what it never tells.

use std::{fs, net::TcpListener, os::unix::fs::PermissionsExt};

use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::{Answer, QuietPort, Script, Upstream};

use crate::server::{Server, binary};

const ANYWHERE: (&str, &str) = ("GATEWRIGHT_SERVER__LISTEN", "127.0.0.1:0");

/// What a machine reads of an examination.
struct Examined {
    code: i32,
    report: Value,
    stderr: String,
}

impl Examined {
    fn of(place: &TempDir, arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let output = binary()
            .args(["doctor", "--json"])
            .args(arguments)
            .current_dir(place.path())
            .envs([ANYWHERE])
            .envs(environment.iter().copied())
            .output()
            .unwrap();
        Self {
            code: output.status.code().unwrap(),
            report: serde_json::from_slice(&output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Verdict, finding and advice of each of the checks with this name.
    fn all(&self, check: &str) -> Vec<(&str, String)> {
        let checks = self.report["checks"].as_array().unwrap();
        let mine = checks.iter().filter(|found| found["check"] == check);
        let told = mine.map(|found| {
            let words = format!("{}; {}", found["found"], found["advice"]);
            (found["verdict"].as_str().unwrap(), words)
        });
        told.collect()
    }

    fn one(&self, check: &str) -> (&str, String) {
        let mut all = self.all(check);
        assert_eq!(all.len(), 1, "{check} in {}", self.report);
        all.remove(0)
    }

    fn assert(&self, check: &str, verdict: &str, words: &[&str]) {
        let all = self.all(check);
        let is_told = |(told, text): &(&str, String)| {
            *told == verdict && words.iter().all(|word| text.contains(word))
        };
        assert!(
            all.iter().any(is_told),
            "{check} {verdict} {words:?} in {all:?}"
        );
    }
}

fn place() -> TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn a_place_where_nothing_was_started_yet_is_well() {
    let place = place();

    let examined = Examined::of(&place, &[], &[]);

    assert_eq!(
        (examined.code, examined.stderr.as_str()),
        (0, ""),
        "{}",
        examined.report
    );
    assert_eq!(examined.report["ok"], true);
    for (check, words) in [
        ("configuration", "no file"),
        ("permissions", "the first start makes it"),
        ("store", "there is no database yet"),
        ("master key", "the first start makes the file"),
        ("clock", "20"),
        ("core dumps", ""),
        ("listening address", "is free"),
    ] {
        let (verdict, found) = examined.one(check);
        assert!(
            verdict != "fail" && found.contains(words),
            "{check}: {verdict} {found}"
        );
    }
    examined.assert("tokens", "warn", &["nobody has one", "token create"]);
    examined.assert("providers", "warn", &["none has a key", "OPENAI_API_KEY"]);
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
}

#[test]
fn a_person_reads_a_line_for_each_check() {
    let place = place();

    let output = binary()
        .arg("doctor")
        .current_dir(place.path())
        .envs([ANYWHERE])
        .output()
        .unwrap();

    let lines = String::from_utf8(output.stdout).unwrap();
    assert!(lines.lines().count() >= 12, "{lines}");
    for line in lines.lines().take(lines.lines().count() - 1) {
        assert!(
            ["ok    ", "warn  "]
                .iter()
                .any(|verdict| line.starts_with(verdict)),
            "{line}"
        );
    }
    assert!(
        lines.lines().last().unwrap().ends_with(" 0 failed"),
        "{lines}"
    );
}

#[test]
fn a_broken_configuration_is_told_and_the_rest_looked_at_all_the_same() {
    let place = place();
    let text = "[server]\nlisen = 1\n[limits]\ncalls = 0";
    fs::write(place.path().join("g.toml"), text).unwrap();

    let examined = Examined::of(&place, &["--config", "g.toml"], &[]);
    let refused = Examined::of(
        &place,
        &[],
        &[("GATEWRIGHT_EGRESS__ALLOW", "[\"nonsense\"]")],
    );
    let missing = Examined::of(&place, &["--config", "gone.toml"], &[]);

    assert_eq!((examined.code, refused.code, missing.code), (1, 1, 1));
    assert_eq!(examined.report["ok"], false);
    for word in ["did you mean `server.listen`", "limits.calls"] {
        examined.assert("configuration", "fail", &[word, "g.toml"]);
    }
    examined.assert("store", "ok", &[]);
    refused.assert("configuration", "fail", &["egress.allow", "nonsense"]);
    missing.assert("configuration", "fail", &["gone.toml"]);
    missing.assert("clock", "ok", &[]);
    assert!(
        examined.stderr.contains("checks failed"),
        "{}",
        examined.stderr
    );
}

#[tokio::test]
async fn a_running_server_is_known_and_files_that_others_may_read_are_named() {
    let server = Server::start();
    let api = server.api();
    let function = api.echo().await;
    api.call(&function, json!({"input": "hello"})).await;
    let address = server.address.strip_prefix("http://").unwrap();
    let here = [
        ("GATEWRIGHT_STORE__DATA_DIR", "data"),
        ("GATEWRIGHT_SERVER__LISTEN", address),
    ];

    let well = Examined::of(&server.dir, &[], &here);
    let database = server.dir.path().join("data/gatewright.db");
    fs::set_permissions(&database, fs::Permissions::from_mode(0o644)).unwrap();
    let open = Examined::of(&server.dir, &[], &here);

    let process = format!("process {}", server.process_id());
    assert_eq!(well.code, 0, "{}", well.report);
    well.assert("store", "ok", &["sound", &process]);
    well.assert("listening address", "ok", &["the running server's"]);
    well.assert("clock", "ok", &["the newest span is of 20"]);
    well.assert("tokens", "ok", &["2, not revoked"]);
    assert_eq!(open.code, 1);
    open.assert(
        "permissions",
        "fail",
        &["gatewright.db has mode 644", "chmod 600"],
    );
    assert_eq!(
        api.call(&function, json!({"input": "hello"})).await.status,
        200
    );
}

#[test]
fn an_address_that_another_has_or_that_others_reach_is_told() {
    let place = place();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = listener.local_addr().unwrap().to_string();

    let taken = Examined::of(&place, &[], &[("GATEWRIGHT_SERVER__LISTEN", &taken)]);
    let public = Examined::of(&place, &[], &[("GATEWRIGHT_SERVER__LISTEN", "0.0.0.0:0")]);

    let process = format!("process {}", std::process::id());
    assert_eq!((taken.code, public.code), (1, 0));
    taken.assert("listening address", "fail", &["is in use by", &process]);
    public.assert("listening address", "warn", &["in clear", "proxy with TLS"]);
}

#[tokio::test]
async fn sealed_keys_are_tried_and_no_secret_is_told() {
    let mut server = Server::start();
    server.api().model("mine", "https://example.com/v1").await;
    server.stop().await;
    let secrets = [
        ("OPENAI_API_KEY", "sk-canary-of-the-operator"),
        (
            "GATEWRIGHT_BOOTSTRAP_TOKENS",
            "alpha:canary-token-0123456789-abcdef",
        ),
        ("GATEWRIGHT_STORE__DATA_DIR", "data"),
    ];
    let other = (
        "GATEWRIGHT_MASTER_KEY",
        "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
    );
    let file = server.dir.path().join("data/master.key");
    let own = fs::read_to_string(&file).unwrap();

    let well = Examined::of(&server.dir, &[], &secrets);
    let wrong = Examined::of(&server.dir, &[], &[&secrets[..], &[other]].concat());
    fs::remove_file(&file).unwrap();
    let missing = Examined::of(&server.dir, &[], &secrets);

    assert_eq!(
        (well.code, wrong.code, missing.code),
        (0, 1, 1),
        "{}",
        well.report
    );
    well.assert("master key", "ok", &["opens every sealed provider key (1)"]);
    well.assert("providers", "ok", &["openai (environment OPENAI_API_KEY)"]);
    wrong.assert(
        "master key",
        "fail",
        &["is not the one that sealed", "GATEWRIGHT_MASTER_KEY"],
    );
    missing.assert(
        "master key",
        "fail",
        &["is missing, and provider keys are sealed (1)"],
    );
    for examined in [well, wrong, missing] {
        let told = format!("{}{}", examined.report, examined.stderr);
        for secret in ["canary", "sk-of-the-custom-model", own.trim(), other.1] {
            assert!(!told.contains(secret), "{secret} in {told}");
        }
    }
}

#[test]
fn a_damaged_store_is_told_with_what_to_do() {
    let place = place();
    let data = place.path().join("gatewright-data");
    fs::create_dir(&data).unwrap();
    fs::set_permissions(&data, fs::Permissions::from_mode(0o700)).unwrap();
    let database = data.join("gatewright.db");
    fs::write(&database, "no database".repeat(1000)).unwrap();
    fs::set_permissions(&database, fs::Permissions::from_mode(0o600)).unwrap();

    let examined = Examined::of(&place, &[], &[]);

    assert_eq!(examined.code, 1);
    examined.assert(
        "store",
        "fail",
        &["not a database", "gatewright restore --force"],
    );
    examined.assert("permissions", "ok", &[]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn providers_are_asked_with_each_of_their_keys() {
    let script = Script::by(|request| {
        let key = request.header("authorization").unwrap_or_default();
        match key.strip_prefix("Bearer canary-") {
            Some("good") => Answer::text("ok"),
            Some("busy") => Answer::error(429, "slow down"),
            Some("poor") => Answer::error(402, "pay"),
            Some("lost") => Answer::error(404, "no such model"),
            Some("down") => Answer::error(500, "sorry"),
            _ => Answer::error(401, "wrong key canary-bad"),
        }
    });
    let upstream = Upstream::start(script).await;
    let quiet = QuietPort::take();
    let closed = quiet.address();
    let place = place();
    let one = |name: &str| {
        format!(
            "[providers.{name}]\napi_base = \"{}\"\napi_key_env = \"KEY_{}\"\ndefault_model = \"tiny\"\n",
            upstream.base_url(),
            name.to_uppercase()
        )
    };
    let mut sections: Vec<String> = ["good", "busy", "poor", "lost", "down", "bad"]
        .map(one)
        .into();
    sections.push(format!(
        "[providers.two]\napi_base = \"{}\"\nkeys = [{{ env = \"KEY_GOOD\" }}, {{ env = \"KEY_BAD\" }}]\ndefault_model = \"tiny\"\n\
         [providers.gone]\napi_base = \"http://{closed}/v1\"\ndefault_model = \"tiny\"\n\
         [providers.mute]\napi_base = \"http://{closed}/v1\"\n",
        upstream.base_url(),
    ));
    fs::write(place.path().join("g.toml"), sections.concat()).unwrap();
    let keys = ["GOOD", "BUSY", "POOR", "LOST", "DOWN", "BAD"].map(|name| {
        (
            format!("KEY_{name}"),
            format!("canary-{}", name.to_lowercase()),
        )
    });
    let keys = keys
        .each_ref()
        .map(|(name, key)| (name.as_str(), key.as_str()));

    let examined = tokio::task::block_in_place(|| {
        Examined::of(&place, &["--config", "g.toml", "--ask-providers"], &keys)
    });

    assert_eq!(examined.code, 1, "{}", examined.report);
    for (check, verdict, words) in [
        ("provider good", "ok", ["answered in", "USD"]),
        ("provider busy", "warn", ["the key is right", "429"]),
        ("provider poor", "fail", ["nothing left to pay", "402"]),
        ("provider lost", "fail", ["does not know lost/tiny", "404"]),
        (
            "provider down",
            "fail",
            ["it fails (status 500)", "status page"],
        ),
        ("provider bad", "fail", ["wrong key", "environment KEY_BAD"]),
        ("provider two, key 1", "ok", ["answered in", "USD"]),
        (
            "provider two, key 2",
            "fail",
            ["wrong key", "environment KEY_BAD"],
        ),
        ("provider gone", "fail", ["unreachable", "DNS"]),
        (
            "provider mute",
            "warn",
            ["no cheap model", "providers.mute.default_model"],
        ),
    ] {
        examined.assert(check, verdict, &words);
    }
    let asked = upstream.requests();
    let is_small = |body: Value| body["max_tokens"] == 16 || body["max_completion_tokens"] == 16;
    assert!(asked.iter().all(|request| is_small(request.json())));
    assert!(
        !examined.report.to_string().contains("canary"),
        "{}",
        examined.report
    );
    assert!(!place.path().join("gatewright-data").exists());
}
