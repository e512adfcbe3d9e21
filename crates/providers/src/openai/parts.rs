//! Contents of messages: text, images, sound and documents as parts.

use std::borrow::Cow;

use domain::Part;
use serde::Serialize;

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

/// A name for a document, by its kind.
pub(crate) fn document_name(url: &str) -> String {
    let subtype = base64_data(url).map_or("pdf", |(subtype, _)| subtype);
    let is_ending = subtype.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if is_ending && !subtype.is_empty() {
        format!("document.{subtype}")
    } else {
        "document".to_owned()
    }
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
