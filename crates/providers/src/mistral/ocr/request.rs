//! The body of a request to read a document.

use domain::{
    DocumentKind, Json, JsonObject, OcrRequest,
    seams::{ProviderError, ProviderErrorKind as Kind, Target},
};
use serde::{Serialize, Serializer, ser::SerializeMap as _};
use serde_json::{Value, json};

use crate::reading::{DataUrl, passes_urls};

/// What asks for the pages piece by piece.
const BLOCKS: &str = "include_blocks";
/// What the body says itself.
const OURS: [&str; 2] = ["model", "document"];
/// The schemas that something is to be told by, and what each is called where its owner has no name for it.
const SCHEMAS: [(&str, &str); 2] = [
    ("bbox_annotation_format", "bbox_annotation"),
    ("document_annotation_format", "document_annotation"),
];

/// A body.
pub(in crate::mistral) struct Body<'a> {
    target: &'a Target,
    request: &'a OcrRequest,
    settings: JsonObject,
}

/// Words a request.
pub(in crate::mistral) fn body<'a>(target: &'a Target, request: &'a OcrRequest) -> Body<'a> {
    Body {
        target,
        request,
        settings: settings(target, request),
    }
}

/// Everything but the document: what the caller said, then what it said in Mistral's own words, then the model's options.
///
/// The limit of pictures is one of the document there and one of a page here, so it is not passed on.
pub(super) fn settings(target: &Target, request: &OcrRequest) -> JsonObject {
    let mut settings = JsonObject::new();
    let mut put = |name: &str, value: Option<Json>| {
        if let Some(value) = value {
            settings.insert(name.to_owned(), value);
        }
    };
    put("pages", request.pages.as_ref().map(Json::of));
    let with_images = request.with_images.then(|| Json::of(&true));
    put("include_image_base64", with_images);
    put(
        "image_min_size",
        request.image_min_size.as_ref().map(Json::of),
    );
    let own = request.extras.mistral.iter().chain(&target.options);
    for (name, value) in own.filter(|(name, _)| !OURS.contains(&name.as_str())) {
        let schema = SCHEMAS.iter().find(|(known, _)| known == name);
        let value = schema.map_or_else(|| value.clone(), |(_, title)| format_of(value, title));
        settings.entry(name.clone()).or_insert(value);
    }
    settings
        .entry(BLOCKS.to_owned())
        .or_insert_with(|| Json::of(&true));
    settings.retain(|_, value| !value.is_null());
    settings
}

/// A schema in the frame that it is told in; one that is told in it stays as it is.
fn format_of(given: &Json, title: &str) -> Json {
    let schema = given.to_value();
    let is_framed = schema["type"] == "json_schema" || schema["json_schema"].is_object();
    if is_framed || !schema.is_object() {
        return given.clone();
    }
    let name = schema["title"].as_str().map(name_of);
    let name = name.filter(|name| !name.is_empty());
    let name = name.as_deref().unwrap_or(title);
    // Strictly only where the schema leaves nothing open: else Mistral refuses it.
    let strict = schema["additionalProperties"] == Value::Bool(false);
    let frame = json!({ "name": name, "schema": schema, "strict": strict });
    Json::of(&json!({ "type": "json_schema", "json_schema": frame }))
}

/// A title in the letters that names have.
fn name_of(title: &str) -> String {
    let fits = |it: char| it.is_ascii_alphanumeric() || it == '_' || it == '-';
    let letters = title.chars().map(|it| if fits(it) { it } else { '_' });
    letters.take(64).collect()
}

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut body = serializer.serialize_map(None)?;
        body.serialize_entry("model", &self.target.model)?;
        body.serialize_entry("document", &Source(self))?;
        for (name, value) in &self.settings {
            body.serialize_entry(name, value)?;
        }
        body.end()
    }
}

/// The document: its address where that may be told, else itself.
struct Source<'a>(&'a Body<'a>);

impl Serialize for Source<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Body {
            target, request, ..
        } = self.0;
        let document = &request.document;
        let kind = match document.kind {
            DocumentKind::Pdf => "document_url",
            _ => "image_url",
        };
        let mut source = serializer.serialize_map(None)?;
        source.serialize_entry("type", kind)?;
        match document.url.as_ref().filter(|_| passes_urls(target)) {
            Some(url) => source.serialize_entry(kind, url)?,
            None => source.serialize_entry(kind, &DataUrl(document))?,
        }
        if let Some(name) = document.name.as_ref().filter(|_| kind == "document_url") {
            source.serialize_entry("document_name", name)?;
        }
        source.end()
    }
}

/// The request without what its host does not know, where it was refused for that: older hosts have no blocks.
pub(in crate::mistral) fn without_blocks(
    request: &OcrRequest,
    refusal: &ProviderError,
) -> Option<OcrRequest> {
    let is_ours = !request.extras.mistral.contains_key(BLOCKS);
    let is_refused = refusal.kind == Kind::Invalid && refusal.reason.contains(BLOCKS);
    (is_ours && is_refused).then(|| {
        let mut request = request.clone();
        let blocks = (BLOCKS.to_owned(), Json::null());
        request.extras.mistral.extend([blocks]);
        request
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_schema_gets_its_frame_and_one_in_it_stays() {
        let framed = |text: &str| format_of(&Json::parse(text).unwrap(), "it").to_value();

        assert_eq!(
            framed(r#"{"type":"object","title":"A bill","additionalProperties":false}"#),
            json!({"type": "json_schema", "json_schema": {
                "name": "A_bill",
                "schema": {"type": "object", "title": "A bill", "additionalProperties": false},
                "strict": true,
            }})
        );
        assert_eq!(
            framed(r#"{"properties":{}}"#),
            json!({"type": "json_schema", "json_schema": {"name": "it", "schema": {"properties": {}}, "strict": false}})
        );
        let own = r#"{"type":"json_schema","json_schema":{"name":"a","schema":{}}}"#;
        assert_eq!(framed(own), serde_json::from_str::<Value>(own).unwrap());
    }
}
