//! Holds SECURITY.md to the tree: what it names is there.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// A name of a test is a sentence: it has so many words at least.
const WORDS: usize = 4;

#[test]
fn every_test_script_and_file_that_the_security_page_names_exists() {
    let page = fs::read_to_string(root().join("SECURITY.md")).expect("the page");
    let mut files = Vec::new();
    collect(&root().join("crates"), &mut files);
    let sources: Vec<String> = files
        .iter()
        .filter(|file| file.extension().is_some_and(|ending| ending == "rs"))
        .map(|file| fs::read_to_string(file).expect("a source is text"))
        .collect();
    let is_known = |name: &str| match name.split_once('/') {
        Some(("scripts", script)) => {
            let script = script.split(' ').next().unwrap_or_default();
            root().join("scripts").join(script).is_file()
        }
        Some((krate, path)) => {
            let place = root().join("crates").join(krate).join("src").join(path);
            place.exists()
        }
        None => {
            let test = format!("fn {name}(");
            sources.iter().any(|source| source.contains(&test))
        }
    };

    let named = named(&page);
    let missing: Vec<&&str> = named.iter().filter(|name| !is_known(name)).collect();

    assert!(named.len() > 40, "{named:?}");
    assert_eq!(missing, Vec::<&&str>::new());
}

/// What stands between backticks in the tables and looks like a test, a script or a source file.
fn named(page: &str) -> BTreeSet<&str> {
    let rows = page.lines().filter(|line| line.starts_with('|'));
    let quoted = rows.flat_map(|row| row.split('`').skip(1).step_by(2));
    let is_test = |name: &str| {
        name.split('_').count() >= WORDS
            && name
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte == b'_')
    };
    let is_file = |name: &str| {
        let krate = name.split('/').next().unwrap_or_default();
        krate == "scripts" || (!krate.is_empty() && root().join("crates").join(krate).is_dir())
    };
    quoted
        .filter(|name| is_test(name) || (name.contains('/') && is_file(name)))
        .collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).expect("a folder can be read");
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.push(path);
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
