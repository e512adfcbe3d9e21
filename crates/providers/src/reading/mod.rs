//! What the dialects that read documents have in common: tables, pictures in Markdown, and bodies with a whole document.

mod body;
mod marks;
mod table;

use domain::{
    Element, Json, JsonObject, Label,
    seams::{ProviderError, Target},
};
use serde_json::Value;

pub(crate) use self::{
    body::{Base64, DataUrl},
    marks::replaced,
    table::{Cell, Table, escaped},
};

/// The setting that hands a document's address over, instead of the document: `providers.NAME.pass_url`.
const PASS_URL: &str = "pass_url";
/// How much of what a host says of a document is told.
const MAX_WORDS: usize = 300;

/// Whether the host is to fetch documents itself.
pub(crate) fn passes_urls(target: &Target) -> bool {
    target
        .settings
        .get(PASS_URL)
        .is_some_and(|value| value == "true")
}

/// A failure in few words: a host may repeat what it was sent (`ocr.md` 3).
pub(crate) fn brief(mut failure: ProviderError) -> ProviderError {
    if let Some((end, _)) = failure.reason.char_indices().nth(MAX_WORDS) {
        failure.reason.truncate(end);
        failure.reason.push('…');
    }
    failure
}

/// What a server made with `FastAPI` says is wrong with a request's members: the first, with its place.
pub(crate) fn misplaced(body: &Value) -> Option<String> {
    let first = &body["detail"][0];
    let message = first["msg"].as_str()?;
    let place = first["loc"].as_array().into_iter().flatten();
    let place = place.map(|part| {
        part.as_str()
            .map_or_else(|| part.to_string(), str::to_owned)
    });
    let place: Vec<String> = place.collect();
    Some(format!("`{}`: {message}", place.join(".")))
}

/// Members of an element's `data`.
pub(crate) fn members<const N: usize>(members: [(&str, Value); N]) -> JsonObject {
    let members = members.into_iter();
    members
        .map(|(name, value)| (name.to_owned(), Json::of(&value)))
        .collect()
}

/// An element of that label, with the place still to be told.
pub(crate) fn element(label: Label, text: impl Into<String>) -> Element {
    Element {
        kind: label.kind(),
        label,
        text: text.into(),
        bbox: domain::Bbox::default(),
        data: JsonObject::new(),
    }
}

/// A number of pixels as one that counts.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float that is too large or negative becomes the nearest whole number"
)]
pub(crate) fn pixels(length: f64) -> u32 {
    length.round() as u32
}

#[cfg(test)]
mod tests {
    use domain::seams::ProviderErrorKind as Kind;

    use super::*;

    #[test]
    fn words_are_cut_between_characters() {
        let told = |reason: String| brief(ProviderError::new(Kind::Invalid, reason)).reason;

        assert_eq!(told("é".repeat(400)), "é".repeat(300) + "…");
        assert_eq!(told("no".to_owned()), "no");
    }
}
