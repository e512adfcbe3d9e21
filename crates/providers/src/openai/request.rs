//! Bodies of requests. A target's options follow our own members, verbatim.

use std::borrow::Cow;

use domain::{ChatRequest, EmbeddingRequest, Json, Message, Part, Role, seams::Target};
use serde::{
    Serialize, Serializer,
    ser::{SerializeMap, SerializeSeq},
};

use crate::{adapter::Manner, compatible};

const STREAM_OPTIONS: &str = "stream_options";
/// What options may not set (`interface.md` 2.2).
const OURS: [&str; 4] = ["model", "messages", "input", "stream"];

/// The body of a chat request.
pub(super) struct ChatBody<'a> {
    pub(super) target: &'a Target,
    pub(super) request: &'a ChatRequest,
    pub(super) manner: Manner,
    /// What holds the answer to a schema.
    pub(super) demand: &'a [(&'static str, Json)],
}

impl Serialize for ChatBody<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut body = serializer.serialize_map(None)?;
        body.serialize_entry("model", &self.target.model)?;
        body.serialize_entry("messages", &Messages(&self.request.messages))?;
        for (member, value) in self.demand {
            body.serialize_entry(member, value)?;
        }
        if self.manner == Manner::Streamed {
            body.serialize_entry("stream", &true)?;
            let is_given = self.target.options.contains_key(STREAM_OPTIONS);
            if !is_given && compatible::takes_stream_options(&self.target.provider) {
                body.serialize_entry(
                    STREAM_OPTIONS,
                    &StreamOptions {
                        include_usage: true,
                    },
                )?;
            }
        }
        serialize_options(&mut body, self.target)?;
        body.end()
    }
}

/// The body of an embedding request.
pub(super) struct EmbeddingBody<'a> {
    pub(super) target: &'a Target,
    pub(super) request: &'a EmbeddingRequest,
}

impl Serialize for EmbeddingBody<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut body = serializer.serialize_map(None)?;
        body.serialize_entry("model", &self.target.model)?;
        body.serialize_entry("input", &self.request.input)?;
        serialize_options(&mut body, self.target)?;
        body.end()
    }
}

fn serialize_options<M: SerializeMap>(body: &mut M, target: &Target) -> Result<(), M::Error> {
    for (key, value) in &target.options {
        if !OURS.contains(&key.as_str()) {
            body.serialize_entry(key, value)?;
        }
    }
    Ok(())
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

struct Messages<'a>(&'a [Message]);

impl Serialize for Messages<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Turn<'a> {
            role: Role,
            content: Content<'a>,
        }
        let mut turns = serializer.serialize_seq(Some(self.0.len()))?;
        for message in self.0 {
            let content = match message.parts.as_slice() {
                [] => Content::Text(""),
                [Part::Text(text)] => Content::Text(text),
                parts => Content::Parts(parts.iter().map(content_part).collect()),
            };
            let role = message.role;
            turns.serialize_element(&Turn { role, content })?;
        }
        turns.end()
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Text(&'a str),
    Parts(Vec<ContentPart<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ContentPart<'a> {
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
struct Address<'a> {
    url: &'a str,
}

#[derive(Serialize)]
struct Sound<'a> {
    data: &'a str,
    format: Cow<'a, str>,
}

#[derive(Serialize)]
struct Document<'a> {
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
        Part::File(url) => {
            let subtype = base64_data(url).map_or("pdf", |(subtype, _)| subtype);
            let is_ending = subtype.bytes().all(|byte| byte.is_ascii_alphanumeric());
            let filename = if is_ending && !subtype.is_empty() {
                format!("document.{subtype}")
            } else {
                "document".to_owned()
            };
            ContentPart::File {
                file: Document {
                    filename,
                    file_data: url,
                },
            }
        }
    }
}

/// The subtype and the text of `data:<type>/<subtype>;base64,<text>`.
fn base64_data(url: &str) -> Option<(&str, &str)> {
    let (head, data) = url.strip_prefix("data:")?.split_once(',')?;
    let kind = head.strip_suffix(";base64")?;
    let kind = kind.split(';').next().unwrap_or(kind);
    let subtype = kind.split_once('/').map_or("", |(_, subtype)| subtype);
    Some((subtype, data))
}

/// The short names of sound formats that the dialect knows.
fn sound_format(subtype: &str) -> Cow<'_, str> {
    match subtype {
        "mpeg" | "mpeg3" | "x-mpeg" | "mp3" => "mp3".into(),
        "wav" | "x-wav" | "wave" | "vnd.wave" => "wav".into(),
        other => other.strip_prefix("x-").unwrap_or(other).into(),
    }
}
