//! Whether documents could be read now: what an operator wants to know before somebody sends one.

use std::{path::Path, process::Stdio, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use domain::{Document, DocumentKind};
use tokio::{process::Command, time::timeout};

use super::LocalDocuments;
use crate::{
    process::{Failure, Process, environment},
    protocol::Walls,
};

/// One gray pixel, as a PNG.
const PICTURE: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=";
/// How long a program may take to say which languages it has.
const PATIENCE: Duration = Duration::from_secs(10);

/// What was found.
#[derive(Debug)]
pub struct Examined {
    /// The languages that pages without a text layer can be recognised in; without the program for that, none can.
    pub languages: Option<Result<Vec<String>, String>>,
    /// What keeps a process that reads, or why there is none.
    pub walls: Result<Walls, String>,
}

impl LocalDocuments {
    /// Starts a process that reads, as for a document, and asks the program for pages without a text layer what it has.
    pub async fn examine(&self) -> Examined {
        let languages = match self.tesseract() {
            None => None,
            Some(program) => Some(languages(program).await),
        };
        Examined {
            languages,
            walls: self.walls().await,
        }
    }

    async fn walls(&self) -> Result<Walls, String> {
        let content = STANDARD.decode(PICTURE).expect("the picture is base64");
        let document = Document {
            kind: DocumentKind::Png,
            content: content.into(),
            name: None,
            url: None,
        };
        let opened = Process::open(&document, &self.0.limits, &self.0.bounds).await;
        match opened {
            Ok(process) => Ok(process.walls()),
            Err(Failure::Unstarted(error)) => Err(error.to_string()),
            Err(Failure::Broken(_, reason)) => Err(reason),
            Err(Failure::Unreadable(fault)) => Err(format!("{fault:?}")),
        }
    }
}

async fn languages(program: &Path) -> Result<Vec<String>, String> {
    let listing = Command::new(program)
        .arg("--list-langs")
        .env_clear()
        .envs(environment())
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let listed = match timeout(PATIENCE, listing).await {
        Ok(listed) => listed.map_err(|error| error.to_string())?,
        Err(_) => return Err("it does not answer".to_owned()),
    };
    if !listed.status.success() {
        return Err(format!("it fails with {}", listed.status));
    }
    let text = String::from_utf8_lossy(&listed.stdout).into_owned();
    // The first line says where they are.
    let names = text.lines().skip(1).map(str::trim);
    Ok(names
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect())
}
