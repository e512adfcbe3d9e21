//! Files that tests are held to: folders of cases, and tables of the documents.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "for tests alone, which are told by the environment to write, and fail by a panic"
)]

use std::{
    env, fs,
    path::{Path, PathBuf},
};

/// The folders in a folder, by name.
pub fn folders(path: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(path)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut folders: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}

/// Holds the table between the marks `<!-- NAME -->` and `<!-- /NAME -->` of a page of `docs/` to what was found;
/// `UPDATE_DOCS=1` writes it there instead.
pub fn hold(page: &str, name: &str, table: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs")
        .join(page);
    let page = fs::read_to_string(&path).unwrap();
    let marks = [format!("<!-- {name} -->\n"), format!("<!-- /{name} -->")];
    let (before, rest) = page.split_once(&marks[0]).unwrap();
    let (shown, after) = rest.split_once(&marks[1]).unwrap();
    if env::var_os("UPDATE_DOCS").is_some() {
        let page = format!("{before}{}{table}{}{after}", marks[0], marks[1]);
        fs::write(&path, page).unwrap();
        return;
    }
    assert_eq!(shown, table, "`UPDATE_DOCS=1` writes the page anew");
}
