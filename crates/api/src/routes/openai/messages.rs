//! Turns of a conversation as the dialect writes them, read as far as they can be.
//!
//! Every turn is kept as it came as well: a host of the same dialect gets the caller's own words. What cannot be read
//! is no fault then, but the call has to know of it: other hosts cannot be asked.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use domain::{Invalid, Json, Message, Part, Role, ToolCall};
use engine::Step;
use serde::{Deserialize, Deserializer, de};

use crate::{extract::reread, problem::Problem};

/// Turns that were read.
#[derive(Default)]
pub(super) struct Conversation {
    pub(super) messages: Vec<Message>,
    /// The first part that could not be.
    pub(super) unread: Option<String>,
}

#[derive(Deserialize)]
struct Turn {
    role: Speaker,
    content: Option<Json>,
    refusal: Option<String>,
    tool_calls: Option<Vec<Json>>,
    tool_call_id: Option<String>,
    /// The older form of one of `tool_calls`.
    function_call: Option<Called>,
    name: Option<String>,
}

#[derive(Clone, Copy, PartialEq)]
enum Speaker {
    System,
    User,
    Assistant,
    Tool,
    /// The older form of `tool`: the result of the function of that name.
    Function,
}

impl<'de> Deserialize<'de> for Speaker {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match String::deserialize(deserializer)?.as_str() {
            "system" | "developer" => Ok(Self::System),
            "user" => Ok(Self::User),
            "assistant" => Ok(Self::Assistant),
            "tool" => Ok(Self::Tool),
            "function" => Ok(Self::Function),
            _ => Err(de::Error::custom(Invalid::new(
                "enum",
                "must be one of: system, developer, user, assistant, tool",
            ))),
        }
    }
}

#[derive(Deserialize)]
struct CallBody {
    id: String,
    #[serde(rename = "type")]
    kind: Option<String>,
    function: Option<Called>,
}

#[derive(Deserialize)]
struct Called {
    name: String,
    #[serde(default)]
    arguments: String,
}

#[derive(Deserialize)]
struct PartBody {
    #[serde(rename = "type")]
    kind: String,
    text: Option<String>,
    refusal: Option<String>,
    image_url: Option<Address>,
    audio_url: Option<Address>,
    input_audio: Option<Sound>,
    file: Option<Document>,
}

/// `{"url": …}`, or the address itself, which some programs write.
#[derive(Deserialize)]
#[serde(untagged)]
enum Address {
    Object { url: String },
    Bare(String),
}

#[derive(Deserialize)]
struct Sound {
    data: String,
    format: String,
}

#[derive(Deserialize)]
struct Document {
    file_data: Option<String>,
}

/// Reads the turns of `body.messages`.
pub(super) fn read(given: Vec<Json>) -> Result<Conversation, Problem> {
    if given.is_empty() {
        let fault = Invalid::new("too_short", "a conversation has at least one message");
        return Err(Problem::invalid("body", &fault.at("messages")));
    }
    let mut conversation = Conversation::default();
    for (index, given) in given.into_iter().enumerate() {
        conversation.turn(index, given)?;
    }
    Ok(conversation)
}

impl Conversation {
    fn turn(&mut self, index: usize, given: Json) -> Result<(), Problem> {
        let at = ["body", "messages"].map(|name| Step::Name(name.to_owned()));
        let at = [&at[..], &[Step::Index(index)]].concat();
        let turn: Turn = reread(&given, &at)?;
        let role = match turn.role {
            Speaker::System => Role::System,
            Speaker::User => Role::User,
            Speaker::Assistant => Role::Assistant,
            Speaker::Tool | Speaker::Function => Role::Tool,
        };
        let tool_call_id = match turn.role {
            Speaker::Tool => Some(
                turn.tool_call_id
                    .ok_or_else(|| missing(&at, "tool_call_id"))?,
            ),
            Speaker::Function => Some(turn.name.ok_or_else(|| missing(&at, "name"))?),
            _ => None,
        };
        let mut parts = self.parts(turn.content, index, &at)?;
        if parts.is_empty() {
            parts.extend(turn.refusal.map(Part::Text));
        }
        let mut tool_calls = Vec::new();
        for (number, call) in turn.tool_calls.into_iter().flatten().enumerate() {
            let at = inside(&at, "tool_calls", number);
            let call: CallBody = reread(&call, &at)?;
            match (call.kind.as_deref(), call.function) {
                (None | Some("function"), Some(called)) => {
                    tool_calls.push(called.under(call.id));
                }
                (None | Some("function"), None) => return Err(missing(&at, "function")),
                (Some(kind), _) => self.cannot_read("the tool call", kind, index),
            }
        }
        if let Some(called) = turn.function_call {
            let id = called.name.clone();
            tool_calls.push(called.under(id));
        }
        self.messages.push(Message {
            role,
            parts,
            tool_calls,
            tool_call_id,
            as_given: Some(given),
        });
        Ok(())
    }

    fn parts(
        &mut self,
        content: Option<Json>,
        index: usize,
        at: &[Step],
    ) -> Result<Vec<Part>, Problem> {
        let Some(content) = content else {
            return Ok(Vec::new());
        };
        if let Some(text) = content.as_string() {
            return Ok(vec![Part::Text(text)]);
        }
        let parts: Vec<Json> = serde_json::from_str(content.text()).map_err(|_| {
            let at = [at, &[Step::Name("content".to_owned())]].concat();
            fault(at, "string_type", "must be a string or an array of parts")
        })?;
        let mut read = Vec::with_capacity(parts.len());
        for (number, part) in parts.iter().enumerate() {
            let at = inside(at, "content", number);
            let part: PartBody = reread(part, &at)?;
            let kind = part.kind.clone();
            match part.read(&at)? {
                Some(part) => read.push(part),
                None => self.cannot_read("the content part", &kind, index),
            }
        }
        Ok(read)
    }

    fn cannot_read(&mut self, what: &str, kind: &str, index: usize) {
        let kind: String = kind.chars().take(64).collect();
        self.unread
            .get_or_insert_with(|| format!("{what} `{kind}` of `messages[{index}]`"));
    }
}

impl PartBody {
    /// What it comes to; `None`, if nobody here can tell.
    fn read(self, at: &[Step]) -> Result<Option<Part>, Problem> {
        let kind = self.kind.as_str();
        let needed = || missing(at, kind);
        Ok(Some(match kind {
            "text" => Part::Text(self.text.ok_or_else(needed)?),
            "refusal" => Part::Text(self.refusal.ok_or_else(needed)?),
            "image_url" => Part::Image(self.image_url.ok_or_else(needed)?.url()),
            "audio_url" => Part::Audio(self.audio_url.ok_or_else(needed)?.url()),
            "input_audio" => Part::Audio(self.input_audio.ok_or_else(needed)?.url()),
            "file" => match self.file.ok_or_else(needed)?.url() {
                Some(url) => Part::File(url),
                None => return Ok(None),
            },
            _ => return Ok(None),
        }))
    }
}

impl Address {
    fn url(self) -> String {
        match self {
            Self::Object { url } | Self::Bare(url) => url,
        }
    }
}

impl Sound {
    fn url(self) -> String {
        let subtype = match self.format.as_str() {
            "mp3" => "mpeg",
            other => other,
        };
        format!("data:audio/{subtype};base64,{}", self.data)
    }
}

impl Document {
    /// Its bytes; one that is only referred to lies with its host.
    fn url(self) -> Option<String> {
        let data = self.file_data?;
        if data.starts_with("data:") || data.starts_with("https:") {
            return Some(data);
        }
        let is_base64 = BASE64_STANDARD.decode(&data).is_ok();
        is_base64.then(|| format!("data:application/pdf;base64,{data}"))
    }
}

impl Called {
    fn under(self, id: String) -> ToolCall {
        ToolCall {
            id,
            name: self.name,
            arguments: self.arguments,
        }
    }
}

fn inside(at: &[Step], name: &str, index: usize) -> Vec<Step> {
    [at, &[Step::Name(name.to_owned()), Step::Index(index)]].concat()
}

pub(super) fn missing(at: &[Step], name: &str) -> Problem {
    let at = [at, &[Step::Name(name.to_owned())]].concat();
    fault(at, "missing", "this field is required")
}

pub(super) fn fault(loc: Vec<Step>, slug: &str, msg: &str) -> Problem {
    Problem::faults(vec![engine::Fault {
        loc,
        msg: msg.to_owned(),
        slug: slug.to_owned(),
    }])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(text: &str) -> Vec<Json> {
        serde_json::from_str(text).unwrap()
    }

    fn conversation(text: &str) -> Conversation {
        let read = read(given(text));
        read.unwrap_or_else(|problem| panic!("{problem:?}"))
    }

    #[test]
    fn every_kind_of_turn_is_read_and_kept_as_it_came() {
        let turns = r#"[{"role":"developer","content":"Be brief."},
            {"role":"user","content":[{"type":"text","text":"what is it?"},
                {"type":"image_url","image_url":{"url":"https://example.com/a.png","detail":"low"}},
                {"type":"input_audio","input_audio":{"data":"AA==","format":"mp3"}},
                {"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,AA=="}}]},
            {"role":"assistant","content":null,"refusal":null,
                "tool_calls":[{"id":"call_1","type":"function","function":{"name":"f","arguments":"{}"}}]},
            {"role":"tool","tool_call_id":"call_1","content":"42"}]"#;

        let read = conversation(turns);

        assert_eq!(read.unread, None);
        let mut expected = [
            Message::text(Role::System, "Be brief."),
            Message::new(
                Role::User,
                vec![
                    Part::Text("what is it?".to_owned()),
                    Part::Image("https://example.com/a.png".to_owned()),
                    Part::Audio("data:audio/mpeg;base64,AA==".to_owned()),
                    Part::File("data:application/pdf;base64,AA==".to_owned()),
                ],
            ),
            Message::new(Role::Assistant, Vec::new()),
            Message::text(Role::Tool, "42"),
        ];
        expected[2].tool_calls = vec![ToolCall {
            id: "call_1".to_owned(),
            name: "f".to_owned(),
            arguments: "{}".to_owned(),
        }];
        expected[3].tool_call_id = Some("call_1".to_owned());
        for (message, given) in expected.iter_mut().zip(given(turns)) {
            message.as_given = Some(given);
        }
        assert_eq!(read.messages, expected);
    }

    #[test]
    fn what_cannot_be_read_is_named_and_no_fault() {
        for (turn, unread) in [
            (
                r#"{"role":"user","content":[{"type":"video_url","video_url":{"url":"https://example.com"}}]}"#,
                "the content part `video_url` of `messages[0]`",
            ),
            (
                r#"{"role":"user","content":[{"type":"file","file":{"file_id":"file-1"}}]}"#,
                "the content part `file` of `messages[0]`",
            ),
            (
                r#"{"role":"assistant","tool_calls":[{"id":"c","type":"custom","custom":{"name":"f","input":"x"}}]}"#,
                "the tool call `custom` of `messages[0]`",
            ),
        ] {
            let read = conversation(&format!("[{turn}]"));

            assert_eq!(read.unread.as_deref(), Some(unread), "{turn}");
        }
    }

    #[test]
    fn the_older_words_for_tools_are_read_too() {
        let turns = r#"[{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}},
            {"role":"function","name":"f","content":"42"}]"#;

        let [asked, answered] = &conversation(turns).messages[..] else {
            panic!("two turns")
        };

        assert_eq!(asked.tool_calls[0].id, "f");
        assert_eq!(answered.tool_call_id.as_deref(), Some("f"));
    }
}
