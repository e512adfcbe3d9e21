//! What a task is asked for.

use std::{fmt::Write as _, time::Duration};

use aws_lc_rs::digest::{SHA256, digest};
use domain::{Document, Json, JsonObject, OcrRequest, seams::Target};
use serde::{Serialize, Serializer, ser::SerializeMap as _};
use serde_json::json;

use super::{form::Form, ranges::Range};
use crate::reading::{Base64, passes_urls};

/// What is said here, whatever the caller says: the answer is read by it.
const OURS: [&str; 5] = [
    "output_format",
    "to_formats",
    "image_export_mode",
    "md_page_break_placeholder",
    "page_range",
];
/// How much larger than its points a page is in pixels.
const SCALE: &str = "images_scale";
const USUAL_SCALE: f64 = 2.0;
/// So much of the time is left to fetch what came.
const SPARE: Duration = Duration::from_secs(5);

/// What is the same for all tasks of a document.
pub(super) struct Options<'a> {
    target: &'a Target,
    request: &'a OcrRequest,
    /// What the pages' text is to be.
    pub(super) form: Form,
    /// Stands between two pages of the Markdown.
    pub(super) page_mark: String,
    /// Pixels per point.
    pub(super) scale: f64,
    settings: JsonObject,
}

impl<'a> Options<'a> {
    pub(super) fn new(target: &'a Target, request: &'a OcrRequest, form: Form) -> Self {
        let settings = settings(target, request);
        let scale = settings.get(SCALE).and_then(|it| it.to_value().as_f64());
        let scale = scale.filter(|scale| (0.01..=100.0).contains(scale));
        Self {
            target,
            request,
            form,
            page_mark: page_mark(&request.document),
            scale: scale.unwrap_or(USUAL_SCALE),
            settings,
        }
    }

    /// The body of the request for a range of pages.
    pub(super) fn body(&self, range: Option<Range>) -> Body<'_> {
        let mut options = self.settings.clone();
        let mut put = |name: &str, value: serde_json::Value| {
            options.insert(name.to_owned(), Json::of(&value));
        };
        let mut formats = vec!["md", "json"];
        if self.form == Form::DocTags {
            formats.push("doctags");
        }
        put("to_formats", json!(formats));
        let mode = if self.request.with_images {
            "embedded"
        } else {
            "placeholder"
        };
        put("image_export_mode", json!(mode));
        put("md_page_break_placeholder", json!(self.page_mark));
        if let Some((first, last)) = range {
            // There they are counted from 1.
            put(
                "page_range",
                json!([u64::from(first) + 1, u64::from(last) + 1]),
            );
        }
        Body {
            target: self.target,
            document: &self.request.document,
            options,
        }
    }

    /// What is told of the settings.
    pub(super) fn told(&self) -> JsonObject {
        self.settings.clone()
    }
}

/// The caller's settings, then the model's, then ours.
fn settings(target: &Target, request: &OcrRequest) -> JsonObject {
    let mut settings = JsonObject::new();
    let given = request.extras.docling.iter().chain(&target.options);
    for (name, value) in given.filter(|(name, _)| !OURS.contains(&name.as_str())) {
        settings
            .entry(name.clone())
            .or_insert_with(|| value.clone());
    }
    let seconds = target.timeout.saturating_sub(SPARE).max(target.timeout / 2);
    let usual = [
        ("include_images", json!(request.with_images)),
        ("document_timeout", json!(seconds.as_secs_f64())),
    ];
    for (name, value) in usual {
        settings
            .entry(name.to_owned())
            .or_insert_with(|| Json::of(&value));
    }
    settings.retain(|_, value| !value.is_null());
    settings
}

/// A word that stands in no such document: it would have to hold its own hash.
fn page_mark(document: &Document) -> String {
    let hash = digest(&SHA256, &document.content);
    let mut mark = "page-break-".to_owned();
    for byte in &hash.as_ref()[..16] {
        write!(mark, "{byte:02x}").expect("a text can be written to");
    }
    mark
}

/// The body of a request.
pub(super) struct Body<'a> {
    target: &'a Target,
    document: &'a Document,
    options: JsonObject,
}

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut body = serializer.serialize_map(None)?;
        body.serialize_entry("options", &self.options)?;
        body.serialize_entry("sources", &[Source(self)])?;
        // Else newer servers put what came into a store of theirs.
        body.serialize_entry("target", &json!({ "kind": "inbody" }))?;
        body.end()
    }
}

/// The document: its address where that may be told, else itself.
struct Source<'a>(&'a Body<'a>);

impl Serialize for Source<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Body {
            target, document, ..
        } = self.0;
        let mut source = serializer.serialize_map(None)?;
        if let Some(url) = document.url.as_ref().filter(|_| passes_urls(target)) {
            source.serialize_entry("kind", "http")?;
            source.serialize_entry("url", url)?;
        } else {
            source.serialize_entry("kind", "file")?;
            source.serialize_entry("base64_string", &Base64(document))?;
            source.serialize_entry("filename", &file_name(document))?;
        }
        source.end()
    }
}

/// A name that ends as its bytes are: the server goes by that.
fn file_name(document: &Document) -> String {
    let name = document.name.as_deref().unwrap_or_default();
    let name = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let stem = if stem.is_empty() { "document" } else { stem };
    format!("{stem}.{}", document.kind.extension())
}

#[cfg(test)]
mod tests {
    use domain::DocumentKind;

    use super::*;

    #[test]
    fn a_file_is_named_by_what_it_is() {
        let named = |name: Option<&str>| {
            file_name(&Document {
                kind: DocumentKind::Jpeg,
                content: "x".into(),
                name: name.map(str::to_owned),
                url: None,
            })
        };

        assert_eq!(named(None), "document.jpg");
        assert_eq!(named(Some("scan.v2.PDF")), "scan.v2.jpg");
        assert_eq!(named(Some("../a\\b/scan")), "scan.jpg");
        assert_eq!(named(Some(".pdf")), "document.jpg");
    }
}
