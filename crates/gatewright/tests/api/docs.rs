//! The examples of README and `docs/`: every `curl` in them runs, in order, and succeeds.

use std::{collections::BTreeMap, path::Path, process::Command};

use serde_json::Value;
use testkit::documents::{Recipe, Set};

use crate::server::{ALPHA, Server};

#[tokio::test]
async fn every_curl_of_the_documents_runs() {
    let server = Server::start();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let pages = std::fs::read_dir(root.join("docs"))
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let pages = pages.filter(|path| path.extension().is_some_and(|ending| ending == "md"));
    let mut run = 0;
    // The document that the examples read.
    let folder = tempfile::tempdir().unwrap();
    let report = Recipe::of(Set::Digital)[0].make(1).bytes;
    std::fs::write(folder.path().join("report.pdf"), report).unwrap();

    for page in pages.chain([root.join("README.md")]) {
        let mut variables = BTreeMap::from([("TOKEN".to_owned(), ALPHA.to_owned())]);
        for command in curls(&std::fs::read_to_string(&page).unwrap()) {
            let command = command.replace("http://127.0.0.1:8080", &server.address);
            let output = Command::new("bash")
                .args(["-euc", &command])
                .envs(&variables)
                .current_dir(folder.path())
                .output()
                .unwrap();
            let answer = answer(&output.stdout);
            let failed = answer["type"]
                .as_str()
                .is_some_and(|class| class.ends_with("Error"));
            assert!(
                output.status.success() && answer.is_object() && !failed,
                "{}: {command}\n{output:?}",
                page.display()
            );

            for (member, variable) in [
                ("id", "ID"),
                ("revision_id", "REVISION_ID"),
                ("dataset_id", "DATASET_ID"),
                ("span_id", "SPAN_ID"),
            ] {
                let value = answer[member].as_str().map(str::to_owned);
                variables.extend(value.map(|value| (variable.to_owned(), value)));
            }
            if answer["revision_id"].is_string() {
                variables.insert("FUNCTION_ID".to_owned(), variables["ID"].clone());
            }
            run += 1;
        }
    }

    assert!(run >= 5, "{run} commands were found");
}

/// What a command printed: a JSON value, or the last event of a stream, which has to be `done`.
fn answer(printed: &[u8]) -> Value {
    let text = String::from_utf8_lossy(printed);
    let last = text.trim_end().rsplit("\n\n").next().unwrap_or_default();
    let is_done = last.lines().any(|line| line == "event: done");
    let data = last.lines().find_map(|line| line.strip_prefix("data: "));
    match data {
        Some(data) if is_done => serde_json::from_str(data).unwrap_or_default(),
        _ => serde_json::from_str(&text).unwrap_or_default(),
    }
}

/// The commands of a page's shell blocks that begin with `curl`, each up to where the next one begins.
fn curls(page: &str) -> Vec<String> {
    let blocks = page
        .split("```sh\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next());
    let mut commands: Vec<String> = Vec::new();
    for block in blocks {
        let mut in_curl = false;
        for line in block.lines() {
            if line.starts_with("curl ") {
                in_curl = true;
                commands.push(String::new());
            }
            if let Some(command) = commands.last_mut().filter(|_| in_curl) {
                command.push_str(line);
                command.push('\n');
            }
        }
    }
    commands
}
