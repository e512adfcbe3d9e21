//! `gatewright rotate-key`: another master key while the server goes on.

use std::{fs, os::unix::fs::PermissionsExt, process::Output};

use serde_json::{Value, json};
use testkit::{Answer, Script};

use crate::server::{Server, binary};

/// An upstream that knows the keys of the models `m0`, `m1` and so on.
fn lock() -> Script {
    Script::by(|request| {
        let key = request.header("authorization").unwrap_or_default();
        match key.strip_prefix("Bearer key-") {
            Some(_) => Answer::text("ok"),
            None => Answer::error(401, "wrong key"),
        }
    })
}

async fn register(server: &Server, name: &str, api_base: &str) -> Value {
    let model = json!({
        "name": name, "identifier": "own/tiny", "provider": "own", "type": "llm",
        "api_key": format!("key-{name}"), "extra": {"api_base": api_base}
    });
    let answer = server.api().post("/v2/models/custom", model).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let function = json!({"name": format!("f-{name}"), "instructions": "x", "model": name});
    server.api().function(function).await
}

async fn assert_all_answer(server: &Server, functions: &[Value]) {
    for function in functions {
        let answer = server.api().call(function, json!({"input": "hi"})).await;
        assert_eq!(answer.status, 200, "{answer:?}");
    }
}

/// With a master key in the environment.
fn rotate(server: &Server, master_key: &str) -> Output {
    binary()
        .arg("rotate-key")
        .arg("--data-dir")
        .arg(server.dir.path().join("data"))
        .env("GATEWRIGHT_MASTER_KEY", master_key)
        .output()
        .unwrap()
}

#[tokio::test]
async fn the_master_key_changes_beside_a_running_server() {
    let (mut server, upstream) = Server::with_upstream(lock()).await;
    let base = upstream.base_url();
    let mut functions = Vec::new();
    for name in ["m0", "m1", "m2"] {
        functions.push(register(&server, name, &base).await);
    }
    let file = server.dir.path().join("data/master.key");
    let before = fs::read_to_string(&file).unwrap();

    let rotated = server.command(&["rotate-key"]);

    let told = String::from_utf8(rotated.stdout).unwrap();
    assert!(
        told.starts_with("sealed 3 provider keys under a new master key"),
        "{told} {:?}",
        String::from_utf8(rotated.stderr)
    );
    let after = fs::read_to_string(&file).unwrap();
    assert_eq!(after.trim().len(), before.trim().len());
    assert_ne!(after, before);
    let old = file.with_extension("old");
    assert_eq!(fs::read_to_string(&old).unwrap().trim(), before.trim());
    for file in [&file, &old] {
        assert_eq!(
            fs::metadata(file).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }
    // The server opens what was sealed anew, and seals under the new key.
    assert_all_answer(&server, &functions).await;
    functions.push(register(&server, "m3", &base).await);
    server.restart_after_kill();
    assert_all_answer(&server, &functions).await;
    let again = server.command(&["rotate-key"]);
    let told = String::from_utf8(again.stdout).unwrap();
    assert!(told.starts_with("sealed 4 provider keys"), "{told}");
    assert_all_answer(&server, &functions).await;
    let doctor = server.command(&["doctor"]);
    let told = String::from_utf8(doctor.stdout).unwrap();
    assert!(
        told.contains("it opens every sealed provider key (4)"),
        "{told}"
    );
}

#[tokio::test]
async fn a_change_that_was_cut_short_is_gone_on_with() {
    let (mut server, upstream) = Server::with_upstream(lock()).await;
    let functions = [register(&server, "m0", &upstream.base_url()).await];
    let file = server.dir.path().join("data/master.key");
    let old = fs::read_to_string(&file).unwrap();
    let new = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";
    fs::write(&file, format!("{new}\n{old}")).unwrap();

    // Started in the middle of it, a server works all the same.
    server.restart_after_kill();
    assert_all_answer(&server, &functions).await;
    let rotated = server.command(&["rotate-key"]);

    let told = String::from_utf8(rotated.stderr).unwrap();
    assert!(told.contains("was cut short"), "{told}");
    assert_eq!(fs::read_to_string(&file).unwrap().trim(), new);
    assert_all_answer(&server, &functions).await;
}

#[tokio::test]
async fn a_key_of_the_environment_is_the_operators_to_change() {
    let (old, new) = (
        "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=",
        "ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4NzY1NDMyMTA=",
    );
    let (mut server, upstream) =
        Server::with_upstream_and(lock(), &[("GATEWRIGHT_MASTER_KEY", old)]).await;
    let functions = [register(&server, "m0", &upstream.base_url()).await];

    let alone = rotate(&server, old);
    let told = String::from_utf8(alone.stderr).unwrap();
    assert!(
        !alone.status.success() && told.contains("set it to NEW,OLD"),
        "{told}"
    );

    let both = format!("{new},{old}");
    server.set("GATEWRIGHT_MASTER_KEY", &both);
    server.restart_after_kill();
    assert_all_answer(&server, &functions).await;
    let rotated = rotate(&server, &both);
    let told = String::from_utf8(rotated.stdout).unwrap();
    assert!(
        told.starts_with("sealed 1 provider keys under the first key"),
        "{told}"
    );
    server.set("GATEWRIGHT_MASTER_KEY", new);
    server.restart_after_kill();
    assert_all_answer(&server, &functions).await;
}
