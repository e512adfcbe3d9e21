//! `gatewright ocr`: a document read from the command line, on the path that a request takes, with no server.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use anyhow::{Context, anyhow, bail};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use clap::Args;
use domain::{
    DocumentSource, Json, JsonObject, ModelName, OcrExtras, OcrImage, OcrPage, Principal, Progress,
    data_of,
};
use engine::{Detail, Error, Gateway, OcrCall, Recognized};

use crate::{compose, config::Config};

const BAR: &str = "{msg} {bar:40} {pos}/{len} pages {per_sec} {eta}";
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// What is asked for.
#[derive(Debug, Args)]
pub(super) struct Read {
    /// A PDF or picture: a file, or an http(s) or data URL
    #[arg(value_name = "FILE|URL")]
    document: String,
    /// Who reads it: `local/ocr`, a provider's OCR model, or `vision/` before the name of a model that sees
    #[arg(long, default_value = "local/ocr", value_parser = model_name)]
    model: ModelName,
    /// Which pages, counted from 0, such as `0,2-4` [default: all]
    #[arg(long, value_parser = page_list)]
    pages: Option<Pages>,
    /// Where the results go [default: a folder beside here, named after the document]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Recognise every page from its looks, also where it has text of its own
    #[arg(long)]
    force_ocr: bool,
    /// How tables stand in the markdown
    #[arg(long, value_name = "FORMAT", value_parser = ["markdown", "html"])]
    table_format: Option<String>,
    /// Leave running heads and feet out of the markdown
    #[arg(long)]
    no_furniture: bool,
    /// Leave out the pictures
    #[arg(long)]
    no_images: bool,
}

#[derive(Debug, Clone)]
struct Pages(Vec<u32>);

fn model_name(text: &str) -> Result<ModelName, String> {
    ModelName::parse(text).map_err(|fault| fault.message)
}

fn page_list(text: &str) -> Result<Pages, String> {
    let number = |text: &str| {
        let number = text.trim().parse::<u32>();
        number.map_err(|_| {
            format!("`{text}` is no page: `0,2-4` names the first page, and the third to the fifth")
        })
    };
    let mut pages = Vec::new();
    for part in text.split(',') {
        match part.split_once('-') {
            None => pages.push(number(part)?),
            Some((first, last)) => {
                let (first, last) = (number(first)?, number(last)?);
                if first > last || last - first > 100_000 {
                    return Err(format!("`{part}` is no range of pages"));
                }
                pages.extend(first..=last);
            }
        }
    }
    Ok(Pages(pages))
}

/// Reads a document and writes what was read.
pub(super) async fn read(config: &Config, asked: Read) -> anyhow::Result<()> {
    let (document, name) = source(&asked.document)?;
    let out = asked.out.clone().unwrap_or_else(|| folder(&name));
    let (gateway, caller) = compose::alone(config).await?;
    let call = call(&asked, document);
    let (model, progress) = (call.model.clone(), call.progress.clone());
    let read = followed(&gateway, &caller, call, &progress).await;
    gateway.close().await;
    let mut read = read.map_err(|error| anyhow!("{}", told(&error)))?;
    if asked.no_images {
        leave_out_pictures(&mut read);
    }
    let summary = summary(&read, &out);
    write(&out, read, &model).with_context(|| format!("cannot write to {}", out.display()))?;
    super::print(&[summary])
}

/// An error in one line, with what one of our own words means.
fn told(error: &Error) -> String {
    let explained = match &error.detail {
        Detail::Call(detail) => detail.explanation.as_ref(),
        _ => None,
    };
    let reason = error.reason();
    explained.map_or_else(|| reason.clone(), |what| format!("{reason}: {what}"))
}

/// The document, and what it is called.
fn source(given: &str) -> anyhow::Result<(DocumentSource, String)> {
    let is_url = given.contains("://") || data_of(given).is_some();
    if is_url && !Path::new(given).exists() {
        let path = given.split(['?', '#']).next().unwrap_or_default();
        let last = path.rsplit('/').next().unwrap_or_default();
        let name = if data_of(given).is_some() {
            "document"
        } else {
            last
        };
        return Ok((DocumentSource::Url(given.to_owned()), name.to_owned()));
    }
    let path = Path::new(given);
    let content = fs::read(path).with_context(|| format!("cannot read {given}"))?;
    let name = path
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    let source = DocumentSource::Bytes {
        content: content.into(),
        name: name.clone(),
    };
    Ok((source, name.unwrap_or_default()))
}

/// Where the results go: `report.pdf` -> `report-ocr`.
fn folder(name: &str) -> PathBuf {
    let stem = Path::new(name)
        .file_stem()
        .map(|stem| stem.to_string_lossy());
    let stem = stem.filter(|stem| !stem.is_empty());
    PathBuf::from(format!("{}-ocr", stem.unwrap_or("document".into())))
}

fn call(asked: &Read, document: DocumentSource) -> OcrCall {
    let mut mistral = JsonObject::new();
    if asked.no_furniture {
        for name in ["extract_header", "extract_footer"] {
            mistral.insert(name.to_owned(), Json::of(&true));
        }
    }
    if let Some(format) = &asked.table_format {
        mistral.insert("table_format".to_owned(), Json::of(format));
    }
    let mut docling = JsonObject::new();
    if asked.force_ocr {
        docling.insert("force_ocr".to_owned(), Json::of(&true));
    }
    OcrCall {
        model: asked.model.clone(),
        document,
        pages: asked.pages.clone().map(|pages| pages.0).unwrap_or_default(),
        with_images: !asked.no_images,
        image_limit: None,
        image_min_size: None,
        extras: OcrExtras { mistral, docling },
        progress: Arc::default(),
    }
}

/// What comes of the call, with a bar where somebody looks.
async fn followed(
    gateway: &Gateway,
    caller: &Principal,
    call: OcrCall,
    progress: &Progress,
) -> Result<Recognized, engine::Error> {
    let bar = super::bar(BAR, "reading");
    let reading = gateway.ocr.recognize(caller, call);
    tokio::pin!(reading);
    loop {
        tokio::select! {
            read = &mut reading => {
                bar.finish_and_clear();
                return read;
            }
            () = tokio::time::sleep(LOOK_EVERY) => {
                if let Some(total) = progress.total() {
                    bar.set_length(total.into());
                }
                bar.set_position(progress.done().into());
            }
        }
    }
}

/// Leaves out the pictures, and the marks of them, which would lead nowhere.
fn leave_out_pictures(read: &mut Recognized) {
    for page in &mut read.pages {
        for image in std::mem::take(&mut page.images) {
            let mark = OcrImage::mark(&image.id);
            page.markdown = page.markdown.replace(&format!("{mark}\n\n"), "");
            page.markdown = page.markdown.replace(&mark, "");
        }
    }
}

fn summary(read: &Recognized, out: &Path) -> String {
    let pages = read.pages.len();
    let images: usize = read.pages.iter().map(|page| page.images.len()).sum();
    let count = |count: usize, word: &str| match count {
        1 => format!("1 {word}"),
        count => format!("{count} {word}s"),
    };
    format!(
        "{}, {}, {:.1} s -> {}",
        count(pages, "page"),
        count(images, "image"),
        read.seconds,
        out.join("document.md").display()
    )
}

/// `document.md`, `document.json` as a server would answer, and the pictures under the names that both call them by.
fn write(out: &Path, read: Recognized, model: &ModelName) -> anyhow::Result<()> {
    fs::create_dir_all(out)?;
    let pages = read.pages.iter();
    let markdown: Vec<&str> = pages.map(|page| page.markdown.trim_end()).collect();
    fs::write(out.join("document.md"), markdown.join("\n\n") + "\n")?;
    for image in read.pages.iter().flat_map(|page: &OcrPage| &page.images) {
        let Some(url) = &image.data_url else { continue };
        let Some((_, data)) = url.split_once(";base64,") else {
            bail!("the picture {} is no `data:` URL", image.id);
        };
        // A name that a provider chose stays in the folder.
        let name = Path::new(&image.id)
            .file_name()
            .context("a picture without a name")?;
        fs::write(out.join(name), STANDARD.decode(data)?)?;
    }
    fs::write(out.join("document.json"), api::ocr_answer(read, model))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_named_one_by_one_and_in_ranges() {
        let pages = |text: &str| page_list(text).map(|pages| pages.0);
        assert_eq!(pages("0"), Ok(vec![0]));
        assert_eq!(pages("0, 2-4"), Ok(vec![0, 2, 3, 4]));
        for wrong in ["", "-1", "4-2", "a", "0,", "0-99999999"] {
            assert!(pages(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn results_go_to_a_folder_named_after_the_document() {
        assert_eq!(folder("report.pdf"), PathBuf::from("report-ocr"));
        assert_eq!(folder(""), PathBuf::from("document-ocr"));
    }
}
