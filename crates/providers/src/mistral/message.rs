//! A turn of the conversation in Mistral's words.

use std::borrow::Cow;

use domain::{Json, Message, Part, Role};
use serde_json::{Map, Value, json};

use crate::openai::ids;

/// How long the id of a call is, in letters and digits; no other is taken.
const ID_LENGTH: usize = 9;
const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The turn. Of one in the caller's own words, what Mistral does not know is left out.
pub(super) fn worded(message: &Message) -> Json {
    let given = message.as_given.as_ref().map(Json::to_value);
    let given = given.unwrap_or_default();
    let content = match &given["content"] {
        Value::Array(parts) => parts.iter().map(given_part).collect(),
        Value::Null => content(message),
        text => text.clone(),
    };
    let has_calls = !message.tool_calls.is_empty();
    let mut turn = Map::new();
    turn.insert("role".to_owned(), json!(message.role));
    if !(has_calls && content == "") {
        turn.insert("content".to_owned(), content);
    }
    if has_calls {
        let calls = message.tool_calls.iter().map(|call| {
            let function = json!({ "name": call.name, "arguments": call.arguments });
            json!({ "id": id(&call.id), "type": "function", "function": function })
        });
        turn.insert("tool_calls".to_owned(), calls.collect());
    }
    if let Some(call) = &message.tool_call_id {
        turn.insert("tool_call_id".to_owned(), json!(id(call)));
    }
    let own = match message.role {
        Role::Assistant => "prefix",
        Role::Tool => "name",
        Role::System | Role::User => return Json::of(&turn),
    };
    if let Some(value) = given.get(own) {
        turn.insert(own.to_owned(), value.clone());
    }
    Json::of(&turn)
}

fn content(message: &Message) -> Value {
    match message.parts.as_slice() {
        [] => json!(""),
        [Part::Text(text)] => json!(text),
        parts => parts.iter().map(part).collect(),
    }
}

fn part(part: &Part) -> Value {
    match part {
        Part::Text(text) => json!({ "type": "text", "text": text }),
        Part::Image(url) => json!({ "type": "image_url", "image_url": url }),
        Part::Audio(url) => json!({ "type": "input_audio", "input_audio": bare(url) }),
        Part::File(url) => json!({ "type": "document_url", "document_url": url }),
    }
}

/// A part in the caller's words: sound and documents stand elsewhere here, the rest is the same or Mistral's own.
fn given_part(part: &Value) -> Value {
    let (sound, file) = (&part["input_audio"]["data"], &part["file"]);
    if part["type"] == "input_audio" && sound.is_string() {
        return json!({ "type": "input_audio", "input_audio": sound });
    }
    match &file["file_data"] {
        Value::String(url) if part["type"] == "file" => match &file["filename"] {
            Value::String(name) => {
                json!({ "type": "document_url", "document_url": url, "document_name": name })
            }
            _ => json!({ "type": "document_url", "document_url": url }),
        },
        _ => part.clone(),
    }
}

/// The base64 text of a `data:` URL; another address as it is.
fn bare(url: &str) -> &str {
    let data = url
        .strip_prefix("data:")
        .and_then(|url| url.split_once(','));
    data.map_or(url, |(_, data)| data)
}

/// The id, if it is one that Mistral takes, else the same one each time that follows from it.
fn id(given: &str) -> Cow<'_, str> {
    if given.len() == ID_LENGTH && given.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Cow::Borrowed(given);
    }
    let mut hash = ids::hash(given);
    let mut made = String::with_capacity(ID_LENGTH);
    for _ in 0..ID_LENGTH {
        let digit = usize::try_from(hash % 62).expect("it is less than 62");
        made.push(char::from(DIGITS[digit]));
        hash /= 62;
    }
    Cow::Owned(made)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_nine_letters_and_digits_and_the_same_each_time() {
        assert_eq!(id("D681PevKs"), "D681PevKs");
        let made = ["call_0fypS1hVX", "D681PevK_", "", "\u{e5}"].map(id);
        for made in &made {
            assert_eq!(made.len(), ID_LENGTH);
            assert!(made.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        }
        assert_eq!(made[0], id("call_0fypS1hVX"));
        assert_ne!(made[0], made[1]);
    }
}
