//! Images, sound and documents in a conversation.

use domain::seams::{ProviderError, ProviderErrorKind as Kind};
use serde::Serialize;

/// Where films are that the host itself can see, and nobody has the bytes of.
pub(super) const FILMS: [&str; 3] = [
    "https://www.youtube.com/watch",
    "https://youtube.com/watch",
    "https://youtu.be/",
];

/// A part that is no text.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Medium<'a> {
    InlineData(Inline<'a>),
    FileData(Remote<'a>),
}

/// Bytes.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Inline<'a> {
    mime_type: &'a str,
    data: &'a str,
}

/// An address that the host fetches from.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Remote<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    mime_type: Option<&'static str>,
    file_uri: &'a str,
}

/// The kinds that may stand inside of a tool's result: <https://ai.google.dev/gemini-api/docs/function-calling#multimodal>.
const IN_RESULTS: [&str; 5] = [
    "application/pdf",
    "image/jpeg",
    "image/png",
    "image/webp",
    "text/plain",
];

impl<'a> Medium<'a> {
    /// Whether it may stand inside of a tool's result, for a model that looks at media there.
    pub(super) fn fits_result(&self) -> bool {
        matches!(self, Self::InlineData(inline) if IN_RESULTS.contains(&inline.mime_type))
    }

    /// What is at an address, or in it.
    pub(super) fn at(url: &'a str) -> Result<Self, ProviderError> {
        let Some(rest) = url.strip_prefix("data:") else {
            return Ok(Self::FileData(Remote {
                mime_type: media_type(url),
                file_uri: url,
            }));
        };
        let (head, data) = rest.split_once(',').unwrap_or_default();
        let kind = head.strip_suffix(";base64").ok_or_else(|| {
            let reason =
                "a `data:` URL in a message is not base64, which is all that the dialect carries";
            ProviderError::new(Kind::Invalid, reason)
        })?;
        let kind = kind.split(';').next().unwrap_or(kind);
        let mime_type = match kind {
            "" => "text/plain",
            "audio/x-wav" | "audio/wave" | "audio/vnd.wave" => "audio/wav",
            "image/jpg" => "image/jpeg",
            kind => kind,
        };
        Ok(Self::InlineData(Inline { mime_type, data }))
    }
}

/// The media type that an address shows, mostly by its ending.
pub(super) fn media_type(url: &str) -> Option<&'static str> {
    if FILMS.iter().any(|films| url.starts_with(films)) {
        return Some("video/mp4");
    }
    let path = url.split(['?', '#']).next().unwrap_or(url);
    let (_, name) = path.rsplit_once('/')?;
    let (_, ending) = name.rsplit_once('.')?;
    let known = match ending.to_ascii_lowercase().as_str() {
        "jpg" | "jpeg" => "image/jpeg",
        "png" => "image/png",
        "webp" => "image/webp",
        "heic" => "image/heic",
        "mp3" => "audio/mpeg",
        "wav" => "audio/wav",
        "flac" => "audio/flac",
        "ogg" => "audio/ogg",
        "pdf" => "application/pdf",
        "txt" => "text/plain",
        "mp4" => "video/mp4",
        "webm" => "video/webm",
        "mov" => "video/quicktime",
        _ => return None,
    };
    Some(known)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn media_are_bytes_or_addresses() {
        let inline = |kind: &str| json!({"inlineData": {"mimeType": kind, "data": "AAAA"}});
        let cases = [
            ("data:image/jpg;base64,AAAA", inline("image/jpeg")),
            ("data:audio/x-wav;base64,AAAA", inline("audio/wav")),
            (
                "data:text/csv;charset=utf-8;base64,AAAA",
                inline("text/csv"),
            ),
            ("data:;base64,AAAA", inline("text/plain")),
            (
                "https://h/a.b/c.PDF?d=e.png",
                json!({"fileData": {"mimeType": "application/pdf", "fileUri": "https://h/a.b/c.PDF?d=e.png"}}),
            ),
            (
                "https://youtu.be/9hE5-98ZeCg",
                json!({"fileData": {"mimeType": "video/mp4", "fileUri": "https://youtu.be/9hE5-98ZeCg"}}),
            ),
            (
                "https://generativelanguage.googleapis.com/v1beta/files/a",
                json!({"fileData": {"fileUri": "https://generativelanguage.googleapis.com/v1beta/files/a"}}),
            ),
        ];

        for (url, expected) in cases {
            let medium = serde_json::to_value(Medium::at(url).unwrap()).unwrap();
            assert_eq!(medium, expected, "{url}");
        }
        for url in ["data:text/plain,a", "data:", "data:;base64"] {
            assert!(Medium::at(url).is_err(), "{url}");
        }
        assert_eq!(
            serde_json::to_value(Medium::at("https://h").unwrap()).unwrap()["fileData"]["mimeType"],
            Value::Null
        );
    }
}
