//! Holds the manifests to the table of ARCHITECTURE, section 1, and to code without `unsafe`.
//!
//! Of dependencies, normal and build ones only: tests may lean sideways.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use toml::Table;

/// Column two: each crate, and the crates of ours that it may import.
const MAY_IMPORT: &[(&str, &[&str])] = &[
    ("domain", &[]),
    ("engine", &["domain"]),
    ("providers", &["domain"]),
    ("documents", &["domain"]),
    ("store", &["domain"]),
    ("api", &["engine", "domain"]),
    (
        "gatewright",
        &["domain", "engine", "providers", "documents", "store", "api"],
    ),
    ("testkit", &["domain"]),
];

/// Column three: a crate of others, and those of ours that alone may use it.
const ALONE_MAY_USE: &[(&str, &[&str])] = &[
    ("jsonschema", &["engine"]),
    ("reqwest", &[]),
    ("hyper-rustls", &["providers"]),
    ("hayro", &["documents", "testkit"]),
    ("rusqlite", &["store"]),
    ("sqlx", &["store"]),
    ("axum", &["api", "testkit"]),
    // Below the web framework and below the HTTP client alike: the egress guard reads a connection's peer from it.
    ("hyper", &["api", "providers", "testkit"]),
    ("hyper-util", &["api", "providers", "testkit"]),
    ("memory-serve", &["api"]),
    ("tower-http", &["api"]),
    ("utoipa", &["api"]),
    ("utoipa-axum", &["api"]),
    ("anyhow", &["gatewright"]),
    ("clap", &["gatewright"]),
    ("toml", &["gatewright"]),
];

/// Column four, as far as a manifest can show it.
const KNOWS_NOTHING_OF: &[(&str, &[&str])] = &[
    ("domain", &["tokio", "tokio-util", "futures-util", "http"]),
    ("documents", &["http", "url"]),
    ("engine", &["http", "url"]),
    ("store", &["http", "url"]),
];

#[test]
fn every_crate_has_a_row() {
    let crates: BTreeSet<String> = manifests().into_keys().collect();

    let rows: BTreeSet<String> = MAY_IMPORT.iter().map(|(name, _)| (*name).into()).collect();
    assert_eq!(crates, rows);
}

#[test]
fn an_import_points_down_and_siblings_never_meet() {
    let manifests = manifests();
    let mut faults = Vec::new();
    for (name, allowed) in MAY_IMPORT {
        for used in dependencies(&manifests[*name]) {
            if manifests.contains_key(&used) && !allowed.contains(&used.as_str()) {
                faults.push(format!("`{name}` imports `{used}`"));
            }
        }
    }

    assert_eq!(faults, Vec::<String>::new());
}

#[test]
fn a_tool_is_used_only_in_its_room() {
    let mut faults = Vec::new();
    for (name, manifest) in manifests() {
        for used in dependencies(&manifest) {
            let rule = ALONE_MAY_USE.iter().find(|(tool, _)| *tool == used);
            if rule.is_some_and(|(_, rooms)| !rooms.contains(&name.as_str())) {
                faults.push(format!("`{name}` uses `{used}`"));
            }
        }
    }

    assert_eq!(faults, Vec::<String>::new());
}

#[test]
fn a_room_does_not_know_what_is_not_its_business() {
    let manifests = manifests();
    let mut faults = Vec::new();
    for (name, unknown) in KNOWS_NOTHING_OF {
        let used = dependencies(&manifests[*name]);
        for strange in unknown.iter().filter(|strange| used.contains(**strange)) {
            faults.push(format!("`{name}` knows `{strange}`"));
        }
    }

    assert_eq!(faults, Vec::<String>::new());
}

#[test]
fn no_crate_of_ours_may_have_unsafe_code() {
    let workspace = fs::read_to_string(crates().join("../Cargo.toml")).expect("the workspace");
    let workspace: Table = workspace.parse().expect("a manifest is TOML");
    let inherits = |manifest: &Table| {
        let lints = manifest.get("lints").and_then(|lints| lints.as_table());
        lints.is_some_and(|lints| lints.get("workspace") == Some(&true.into()) && lints.len() == 1)
    };

    let others: Vec<String> = manifests()
        .into_iter()
        .filter(|(_, manifest)| !inherits(manifest))
        .map(|(name, _)| name)
        .collect();

    // What is forbidden cannot be allowed again further down.
    let level = workspace["workspace"]["lints"]["rust"]["unsafe_code"].as_str();
    assert_eq!((level, others), (Some("forbid"), Vec::new()));
}

#[test]
fn a_dependency_is_found_wherever_a_manifest_may_name_it() {
    let manifest = r#"
        [dependencies]
        plain.workspace = true
        renamed = { package = "real", version = "1" }
        [build-dependencies]
        built = "1"
        [target.'cfg(unix)'.dependencies]
        narrow = "1"
        [dev-dependencies]
        tested = "1"
    "#;

    let found = dependencies(&manifest.parse().unwrap());

    assert_eq!(
        found,
        ["built", "narrow", "plain", "real"]
            .map(String::from)
            .into()
    );
}

/// Returns the manifest of each crate, by its name.
fn manifests() -> BTreeMap<String, Table> {
    let folders = fs::read_dir(crates()).expect("the workspace has crates");
    let manifests = folders.filter_map(|folder| {
        let path = folder.expect("a readable folder").path().join("Cargo.toml");
        let text = fs::read_to_string(path).ok()?;
        let manifest: Table = text.parse().expect("a manifest is TOML");
        let name = manifest["package"]["name"].as_str()?.to_owned();
        Some((name, manifest))
    });
    manifests.collect()
}

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Returns the names of all normal and build dependencies, those for one target included.
fn dependencies(manifest: &Table) -> BTreeSet<String> {
    let targets = manifest.get("target").and_then(|value| value.as_table());
    let tables = targets
        .into_iter()
        .flat_map(Table::values)
        .filter_map(|target| target.as_table())
        .chain([manifest]);
    let mut found = BTreeSet::new();
    for table in tables {
        for kind in ["dependencies", "build-dependencies"] {
            let named = table.get(kind).and_then(|value| value.as_table());
            for (name, details) in named.into_iter().flatten() {
                let package = details.get("package").and_then(|value| value.as_str());
                found.insert(package.unwrap_or(name).to_owned());
            }
        }
    }
    found
}
