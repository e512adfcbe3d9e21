//! Whether documents can be read on this machine.

use documents::{Examined, LocalDocuments, OcrOptions, Walls};

use super::finding::Finding;

const TESSERACT: &str = "tesseract";
const SANDBOX: &str = "document sandbox";

/// Starts what reads documents, and looks at it.
pub(super) async fn look(options: &OcrOptions) -> [Finding; 2] {
    let documents = LocalDocuments::new(options);
    let Examined { languages, walls } = documents.examine().await;
    [recognition(&documents, options, languages), sandbox(walls)]
}

fn recognition(
    documents: &LocalDocuments,
    options: &OcrOptions,
    languages: Option<Result<Vec<String>, String>>,
) -> Finding {
    let Some(program) = documents.tesseract() else {
        return Finding::warn(
            TESSERACT,
            format!(
                "there is no `{}`: `local/ocr` reads text layers alone, and no scans",
                options.tesseract.display()
            ),
            "`apt-get install tesseract-ocr`, or say where it is with `ocr.tesseract`",
        );
    };
    let program = program.display();
    let installed = match languages.unwrap_or_else(|| Ok(Vec::new())) {
        Ok(installed) => installed,
        Err(reason) => {
            return Finding::fail(
                TESSERACT,
                format!("{program} does not say which languages it has: {reason}"),
                "install it anew",
            );
        }
    };
    let wanted = options.languages.split('+');
    let missing: Vec<&str> = wanted
        .filter(|wanted| !installed.iter().any(|have| have == wanted))
        .collect();
    if missing.is_empty() {
        let found = format!("{program}, with {}", options.languages);
        return Finding::ok(TESSERACT, found);
    }
    let packages: Vec<String> = missing
        .iter()
        .map(|name| format!("tesseract-ocr-{}", name.replace('_', "-")))
        .collect();
    Finding::fail(
        TESSERACT,
        format!(
            "{program} has no {}, which `ocr.languages` names",
            missing.join(", ")
        ),
        format!("`apt-get install {}`", packages.join(" ")),
    )
}

fn sandbox(walls: Result<Walls, String>) -> Finding {
    let upgrade =
        "Linux 6.7 keeps them off both, with Landlock among its security modules (`lsm=`)";
    match walls {
        Ok(Walls::Up) => Finding::ok(
            SANDBOX,
            "the kernel keeps processes that read documents off disk and network",
        ),
        Ok(Walls::Partly) => Finding::warn(
            SANDBOX,
            "the kernel keeps processes that read documents off the disk, and only in part off the network",
            upgrade,
        ),
        Ok(Walls::Missing) => Finding::warn(
            SANDBOX,
            "the kernel does not keep processes that read documents off disk and network; they are bound in memory and time",
            upgrade,
        ),
        Err(reason) => Finding::fail(
            SANDBOX,
            format!("no process that reads documents can be started: {reason}"),
            "look at `ocr.worker_memory_mib`, and whether this user may start processes",
        ),
    }
}
