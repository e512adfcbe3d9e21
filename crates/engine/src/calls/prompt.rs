//! What the model sees (`interface.md` 3.6): instructions, the demand for JSON, examples, the input.

use domain::{ChatRequest, Example, Json, JsonObject, Message, OutputSchema, Part, Role};

use super::open::Call;

const DEMAND: &str =
    "Answer with one JSON value only, with no text around it. It must satisfy this JSON Schema:";

/// The conversation that asks for the call's answer.
pub(super) fn build(call: &Call) -> ChatRequest {
    let definition = call.definition();
    let mut messages = Vec::with_capacity(2 + 2 * call.request.examples.len());
    messages.extend(system(
        &definition.instructions,
        definition.output_schema.as_ref(),
    ));
    messages.extend(call.request.examples.iter().flat_map(demonstration));
    messages.push(
        match call.request.input.as_ref().filter(|input| !input.is_null()) {
            Some(input) => Message {
                role: Role::User,
                parts: parts(input),
            },
            None => Message::text(Role::User, definition.instructions.clone()),
        },
    );
    let output_schema = definition.output_schema.clone().map(|schema| OutputSchema {
        name: schema_name(call.function.name.as_str()),
        schema,
    });
    ChatRequest {
        messages,
        output_schema,
    }
}

fn system(instructions: &str, output_schema: Option<&Json>) -> Option<Message> {
    let demand = output_schema.map(|schema| format!("{DEMAND}\n{}", schema.text()));
    let text = match (instructions, demand) {
        ("", None) => return None,
        ("", Some(demand)) => demand,
        (instructions, None) => instructions.to_owned(),
        (instructions, Some(demand)) => format!("{instructions}\n\n{demand}"),
    };
    Some(Message::text(Role::System, text))
}

/// An example as a pair of turns, its comment a line before the input.
fn demonstration(example: &Example) -> [Message; 2] {
    let mut asked = parts(&example.input);
    if let Some(comment) = &example.comment {
        asked.insert(0, Part::Text(format!("{comment}\n")));
    }
    [
        Message {
            role: Role::User,
            parts: joined(asked),
        },
        Message::text(Role::Assistant, text(&example.output)),
    ]
}

/// A string as it is, anything else as compact JSON.
fn text(value: &Json) -> String {
    value.as_string().unwrap_or_else(|| value.text().to_owned())
}

/// The input's text, and its media members as parts of their own.
fn parts(input: &Json) -> Vec<Part> {
    // The text is searched before it is parsed: few inputs hold media.
    let may_hold_media = input.is_object() && input.text().contains("_media_input\"");
    let members: JsonObject = match may_hold_media.then(|| serde_json::from_str(input.text())) {
        Some(Ok(members)) => members,
        _ => return vec![Part::Text(text(input))],
    };
    let (mut rest, mut media) = (JsonObject::new(), Vec::new());
    for (key, value) in members {
        match media_part(&key, &value) {
            Some(part) => media.push(part),
            None => drop(rest.insert(key, value)),
        }
    }
    let mut parts = Vec::with_capacity(1 + media.len());
    if !rest.is_empty() {
        parts.push(Part::Text(Json::of(&rest).text().to_owned()));
    }
    parts.extend(media);
    parts
}

/// `_<kind>_media_input` with a `data:` or `https:` URL.
fn media_part(key: &str, value: &Json) -> Option<Part> {
    let kind = key.strip_prefix('_')?.strip_suffix("_media_input")?;
    let is_kind = !kind.is_empty() && kind.bytes().all(|byte| byte.is_ascii_lowercase());
    let url = value
        .as_string()
        .filter(|url| is_kind && (url.starts_with("data:") || url.starts_with("https:")))?;
    let media_type = url.strip_prefix("data:").unwrap_or_default();
    Some(if kind == "image" || media_type.starts_with("image/") {
        Part::Image(url)
    } else if kind == "audio" || media_type.starts_with("audio/") {
        Part::Audio(url)
    } else {
        Part::File(url)
    })
}

/// Neighbouring texts as one.
fn joined(parts: Vec<Part>) -> Vec<Part> {
    let mut joined: Vec<Part> = Vec::with_capacity(parts.len());
    for part in parts {
        match (joined.last_mut(), part) {
            (Some(Part::Text(before)), Part::Text(text)) => before.push_str(&text),
            (_, part) => joined.push(part),
        }
    }
    joined
}

/// What every provider takes as the name of a schema.
fn schema_name(function: &str) -> String {
    let allowed = |char: char| {
        if char.is_ascii_alphanumeric() || char == '-' {
            char
        } else {
            '_'
        }
    };
    function.chars().map(allowed).take(64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Json {
        Json::parse(text).unwrap()
    }

    #[test]
    fn a_string_travels_as_it_is_and_anything_else_as_compact_json() {
        assert_eq!(
            parts(&json(r#""a \"b\"\n""#)),
            [Part::Text("a \"b\"\n".to_owned())]
        );
        assert_eq!(
            parts(&json(r#"{ "b": 1.0, "a": [1, 2] }"#)),
            [Part::Text(r#"{"b":1.0,"a":[1,2]}"#.to_owned())]
        );
    }

    #[test]
    fn media_members_become_parts() {
        let input = json(
            r#"{"q":"what is it?","_image_media_input":"https://example.com/a.png",
               "_file_media_input":"data:application/pdf;base64,AA==","_pdf_media_input":"not a url","_X_media_input":"data:,"}"#,
        );

        let rest =
            r#"{"q":"what is it?","_pdf_media_input":"not a url","_X_media_input":"data:,"}"#;
        assert_eq!(
            parts(&input),
            [
                Part::Text(rest.to_owned()),
                Part::Image("https://example.com/a.png".to_owned()),
                Part::File("data:application/pdf;base64,AA==".to_owned()),
            ]
        );
    }

    #[test]
    fn a_comment_is_a_line_before_its_pair() {
        let example = Example {
            input: json("1"),
            output: json(r#""one""#),
            comment: Some("a number".to_owned()),
        };

        assert_eq!(
            demonstration(&example),
            [
                Message::text(Role::User, "a number\n1"),
                Message::text(Role::Assistant, "one")
            ]
        );
    }

    #[test]
    fn without_instructions_and_schema_there_is_no_system_message() {
        assert_eq!(system("", None), None);
        assert_eq!(
            system("Do.", None),
            Some(Message::text(Role::System, "Do."))
        );
        let both = system("Do.", Some(&json("{}"))).unwrap();
        assert_eq!(
            both,
            Message::text(Role::System, format!("Do.\n\n{DEMAND}\n{{}}"))
        );
    }
}
