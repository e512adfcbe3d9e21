//! Contents of messages: text, images, sound and documents as parts.

use std::borrow::Cow;

use domain::Part;
use serde::Serialize;

use crate::ending;

/// The content of a turn.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Content<'a> {
    Text(&'a str),
    Parts(Vec<ContentPart<'a>>),
}

impl<'a> Content<'a> {
    /// Words the parts of a turn.
    pub(super) fn of(parts: &'a [Part]) -> Self {
        match parts {
            [] => Self::Text(""),
            [Part::Text(text)] => Self::Text(text),
            parts => Self::Parts(parts.iter().map(content_part).collect()),
        }
    }
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum ContentPart<'a> {
    Text {
        text: &'a str,
    },
    ImageUrl {
        image_url: Address<'a>,
    },
    InputAudio {
        input_audio: Sound<'a>,
    },
    /// No part of OpenAI's own dialect; vLLM and its kin fetch sound by address so.
    AudioUrl {
        audio_url: Address<'a>,
    },
    File {
        file: Document<'a>,
    },
}

#[derive(Serialize)]
pub(super) struct Address<'a> {
    url: &'a str,
}

#[derive(Serialize)]
pub(super) struct Sound<'a> {
    data: &'a str,
    format: Cow<'a, str>,
}

#[derive(Serialize)]
pub(super) struct Document<'a> {
    filename: String,
    file_data: &'a str,
}

fn content_part(part: &Part) -> ContentPart<'_> {
    match part {
        Part::Text(text) => ContentPart::Text { text },
        Part::Image(url) => ContentPart::ImageUrl {
            image_url: Address { url },
        },
        Part::Audio(url) => match base64_data(url) {
            Some((subtype, data)) => ContentPart::InputAudio {
                input_audio: Sound {
                    data,
                    format: sound_format(subtype),
                },
            },
            None => ContentPart::AudioUrl {
                audio_url: Address { url },
            },
        },
        Part::File(url) => ContentPart::File {
            file: Document {
                filename: document_name(url),
                file_data: url,
            },
        },
    }
}

/// A name for a document, by its kind: OpenAI reads it by how that ends
/// (<https://platform.openai.com/docs/guides/pdf-files>).
pub(crate) fn document_name(url: &str) -> String {
    let Some(kind) = url.strip_prefix("data:") else {
        return "document.pdf".to_owned();
    };
    let kind = kind.split([';', ',']).next().unwrap_or_default();
    let ending = ending::of(kind).or_else(|| {
        let (_, subtype) = kind.split_once('/')?;
        let is_ending = subtype.bytes().all(|byte| byte.is_ascii_alphanumeric());
        (is_ending && !subtype.is_empty()).then_some(subtype)
    });
    ending.map_or_else(
        || "document".to_owned(),
        |ending| format!("document.{ending}"),
    )
}

/// The subtype and the text of `data:<type>/<subtype>;base64,<text>`.
pub(crate) fn base64_data(url: &str) -> Option<(&str, &str)> {
    let (head, data) = url.strip_prefix("data:")?.split_once(',')?;
    let kind = head.strip_suffix(";base64")?;
    let kind = kind.split(';').next().unwrap_or(kind);
    let subtype = kind.split_once('/').map_or("", |(_, subtype)| subtype);
    Some((subtype, data))
}

/// The short names of sound formats that the dialect knows.
pub(crate) fn sound_format(subtype: &str) -> Cow<'_, str> {
    match subtype {
        "mpeg" | "mpeg3" | "x-mpeg" | "mp3" => "mp3".into(),
        "wav" | "x-wav" | "wave" | "vnd.wave" => "wav".into(),
        other => other.strip_prefix("x-").unwrap_or(other).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_documents_name_ends_as_its_kind_does() {
        let word = "vnd.openxmlformats-officedocument.wordprocessingml.document";
        for (kind, name) in [
            ("application/pdf", "document.pdf"),
            ("text/plain", "document.txt"),
            ("text/plain;charset=utf-8", "document.txt"),
            ("application/msword", "document.doc"),
            (&format!("application/{word}"), "document.docx"),
            ("application/zip", "document.zip"),
            ("text/x-python", "document.txt"),
            ("application/x-unknown", "document"),
            ("", "document"),
        ] {
            assert_eq!(document_name(&format!("data:{kind};base64,AA==")), name);
        }
        assert_eq!(document_name("https://h/a"), "document.pdf");
    }
}
