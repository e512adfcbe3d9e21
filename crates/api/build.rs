//! Embeds the built pages of `web/dist` in the binary.
//!
//! A release build packs and embeds the files; a debug build only lists them, and they are read from the disk
//! when asked for, so that editing a page rebuilds nothing. Where the pages are not built, one that says how to
//! build them takes their place. Nothing is written into the source tree.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

const ABSENT: &str = r#"<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Gatewright API</title>
<h1>The API reference is not part of this build</h1>
<p>Build it, then build the server again:</p>
<pre>npm ci --prefix web &amp;&amp; npm run build --prefix web</pre>
<p>The API itself is complete. Its document is at <a href="/openapi.json">/openapi.json</a>.</p>
</html>
"#;

fn main() {
    let out_dir = out_dir();
    let dist = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web/dist");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={}", dist.display());

    let pages = if dist.join("docs/index.html").is_file() {
        dist.canonicalize().expect("the folder was just seen")
    } else {
        absent(&out_dir)
    };
    let embed = !cfg!(debug_assertions);
    let assets = memory_serve::assets_to_code("web/dist", &pages, &out_dir, embed, |_| ());
    // The name and the form are those that `memory_serve::load!` reads.
    let code = format!(r#"&[("default", {assets})]"#);
    fs::write(out_dir.join("memory_serve_assets.rs"), code).expect("the output folder is writable");
}

fn absent(out_dir: &Path) -> PathBuf {
    let pages = out_dir.join("absent");
    fs::create_dir_all(pages.join("docs")).expect("the output folder is writable");
    fs::write(pages.join("docs/index.html"), ABSENT).expect("the output folder is writable");
    pages
}

#[expect(
    clippy::disallowed_methods,
    reason = "cargo names the output folder in the environment alone"
)]
fn out_dir() -> PathBuf {
    env::var_os("OUT_DIR").expect("cargo sets `OUT_DIR`").into()
}
