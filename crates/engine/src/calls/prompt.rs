//! What the model sees (`interface.md` 3.6): instructions, the demand for JSON or XML, examples, the input. Of a
//! conversation that the caller brought along, itself.

use std::sync::Arc;

use domain::{
    ChatRequest, Demand, Example, Json, JsonObject, Message, Part, Role, Rung, seams::Ids,
};

use super::{
    open::Call,
    output::Wanted,
    task::{FunctionTask, Task},
    xml,
};

const ANY_OBJECT: &str = "Answer with one JSON object only, with no text around it.";
const DEMAND: &str =
    "Answer with one JSON value only, with no text around it. It must satisfy this JSON Schema:";

/// The conversation that asks for the call's answer, the dataset's `examples` before the request's own.
///
/// In XML mode inputs stand in an element of a name that `ids` makes up for this call alone, so that no input can
/// close it.
pub(super) fn build(call: &Call, examples: &[Example], ids: &dyn Ids) -> Arc<ChatRequest> {
    match &call.task {
        Task::Function(task) => Arc::new(of_function(task, examples, ids)),
        Task::Chat(task) => task.request.clone(),
    }
}

/// The conversation as a target is asked it. Where the host is not given the schema itself, a caller's conversation says
/// it in words; everywhere else it stays as it came.
pub(super) fn worded(call: &Call, chat: &Arc<ChatRequest>) -> Arc<ChatRequest> {
    let (Task::Chat(task), Some(demand)) = (&call.task, &chat.demand) else {
        return chat.clone();
    };
    let words = match demand.rung {
        Rung::NativeSchema | Rung::ForcedTool => return chat.clone(),
        // Whoever asks for JSON mode, and for no more, asks for it in words of his own.
        Rung::JsonMode if task.firmest == Rung::JsonMode => return chat.clone(),
        Rung::Prompt if task.firmest == Rung::JsonMode => ANY_OBJECT.to_owned(),
        Rung::JsonMode | Rung::Prompt => format!("{DEMAND}\n{}", demand.schema.text()),
    };
    let mut chat = ChatRequest::clone(chat);
    match chat
        .messages
        .first_mut()
        .filter(|first| first.role == Role::System)
    {
        Some(first) => {
            first.as_given = None;
            match first.parts.last_mut() {
                Some(Part::Text(text)) => *text = format!("{text}\n\n{words}"),
                _ => first.parts.push(Part::Text(words)),
            }
        }
        None => chat.messages.insert(0, Message::text(Role::System, words)),
    }
    Arc::new(chat)
}

/// What a model that makes images is told (`interface.md` 15.7): instructions and input, and nothing that a text alone can
/// follow.
pub(super) fn to_draw(call: &Call) -> Arc<ChatRequest> {
    let task = match &call.task {
        Task::Function(task) => task,
        Task::Chat(task) => return task.request.clone(),
    };
    let instructions = &task.callee.revision.definition.instructions;
    let input = task.input.as_ref().filter(|input| !input.is_null());
    let mut messages = Vec::new();
    messages.extend(system(instructions, None));
    messages.extend(input.map(|input| Message::new(Role::User, parts(input))));
    Arc::new(ChatRequest {
        messages,
        ..ChatRequest::default()
    })
}

fn of_function(task: &FunctionTask, examples: &[Example], ids: &dyn Ids) -> ChatRequest {
    let definition = &task.callee.revision.definition;
    let wanted = &task.callee.wanted;
    let form = match wanted {
        Wanted::Xml { shape, .. } => Form::Xml {
            shape,
            tag: format!("input-{}", ids.next().simple()),
        },
        Wanted::Json { .. } | Wanted::Text => Form::Plain,
    };
    let examples = examples.iter().chain(&task.examples);
    let mut messages = Vec::with_capacity(2 + 2 * task.examples.len());
    messages.extend(system(
        &definition.instructions,
        form.demand(definition.output_schema.as_ref()),
    ));
    messages.extend(examples.flat_map(|example| demonstration(example, &form)));
    messages.push(match task.input.as_ref().filter(|input| !input.is_null()) {
        Some(input) => Message::new(Role::User, form.wrapped(parts(input))),
        None => Message::text(Role::User, definition.instructions.clone()),
    });
    // XML is asked for in words alone.
    let asks_for_json = matches!(wanted, Wanted::Json { .. });
    let schema = definition.output_schema.clone().filter(|_| asks_for_json);
    let demand = schema.map(|schema| Demand {
        name: schema_name(task.function.name.as_str()),
        schema,
        rung: Rung::NativeSchema,
        as_given: None,
    });
    ChatRequest {
        messages,
        demand,
        ..ChatRequest::default()
    }
}

/// How input and output are written.
enum Form<'a> {
    Plain,
    Xml { shape: &'a Json, tag: String },
}

impl Form<'_> {
    fn demand(&self, output_schema: Option<&Json>) -> Option<String> {
        match self {
            Self::Plain => output_schema.map(|schema| format!("{DEMAND}\n{}", schema.text())),
            Self::Xml { shape, .. } => Some(xml::demand(shape)),
        }
    }

    fn wrapped(&self, parts: Vec<Part>) -> Vec<Part> {
        let Self::Xml { tag, .. } = self else {
            return parts;
        };
        let wrap = |part| match part {
            Part::Text(text) => Part::Text(xml::wrapped_input(&text, tag)),
            part => part,
        };
        parts.into_iter().map(wrap).collect()
    }

    fn answer(&self, output: &Json) -> String {
        match self {
            Self::Plain => output.to_text(),
            Self::Xml { .. } => xml::rendered(output),
        }
    }
}

fn system(instructions: &str, demand: Option<String>) -> Option<Message> {
    let text = match (instructions, demand) {
        ("", None) => return None,
        ("", Some(demand)) => demand,
        (instructions, None) => instructions.to_owned(),
        (instructions, Some(demand)) => format!("{instructions}\n\n{demand}"),
    };
    Some(Message::text(Role::System, text))
}

/// An example as a pair of turns, its comment a line before the input.
fn demonstration(example: &Example, form: &Form<'_>) -> [Message; 2] {
    let mut asked = form.wrapped(parts(&example.input));
    if let Some(comment) = &example.comment {
        asked.insert(0, Part::Text(format!("{comment}\n")));
    }
    [
        Message::new(Role::User, joined(asked)),
        Message::text(Role::Assistant, form.answer(&example.output)),
    ]
}

/// The input's text, and its media members as parts of their own.
fn parts(input: &Json) -> Vec<Part> {
    let Some(members) = media_members(input) else {
        return vec![Part::Text(input.to_text())];
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
        parts.push(Part::Text(Json::of(&rest).spelled_out().into_owned()));
    }
    parts.extend(media);
    parts
}

/// A sentence for each member of an input that is called as media are, and is told to the model as a text.
pub(super) fn unsent_media(input: &Json) -> Vec<String> {
    let members = media_members(input).unwrap_or_default();
    let is_text = |key: &str, value: &Json| {
        let url = value.as_string().unwrap_or_default();
        media_kind(key).is_some() && is_address(&url) && !is_of_media(&url)
    };
    let texts = members.iter().filter(|(key, value)| is_text(key, value));
    texts
        .map(|(key, _)| {
            format!(
                "the input's `{key}` was sent as a text: its URL begins with neither `https:` nor `data:`"
            )
        })
        .collect()
}

fn is_of_media(url: &str) -> bool {
    url.starts_with("data:") || url.starts_with("https:")
}

/// Whether a text begins as the address of something does, wherever that lies.
fn is_address(text: &str) -> bool {
    let is_of_scheme = |char: char| char.is_ascii_alphanumeric() || "+-.".contains(char);
    let scheme = text.split_once("://").map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| !scheme.is_empty() && scheme.chars().all(is_of_scheme))
}

/// The members of an input that may hold media. The text is searched before it is parsed: few do.
fn media_members(input: &Json) -> Option<JsonObject> {
    let may_hold_media = input.is_object() && input.text().contains("_media_input\"");
    let members = may_hold_media.then(|| serde_json::from_str(input.text()));
    members?.ok()
}

/// The kind of media that stands in a member `_<kind>_media_input`.
fn media_kind(key: &str) -> Option<&str> {
    let kind = key.strip_prefix('_')?.strip_suffix("_media_input")?;
    let is_kind = !kind.is_empty() && kind.bytes().all(|byte| byte.is_ascii_lowercase());
    is_kind.then_some(kind)
}

/// `_<kind>_media_input` with a `data:` or `https:` URL.
fn media_part(key: &str, value: &Json) -> Option<Part> {
    let kind = media_kind(key)?;
    let url = value.as_string().filter(|url| is_of_media(url))?;
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
pub(super) fn schema_name(function: &str) -> String {
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
    fn media_that_are_no_more_than_a_text_are_told() {
        let input = json(
            r#"{"_image_media_input":"http://example.com/a.png","_file_media_input":"https://example.com/a.pdf",
               "_X_media_input":"http://example.com/a","image":"http://example.com/a","_pdf_media_input":"ftp://example.com/a",
               "_audio_media_input":"see: here://","_video_media_input":"HTTPS://example.com/a"}"#,
        );

        let told = ["_image", "_pdf", "_video"].map(|kind| {
            format!("the input's `{kind}_media_input` was sent as a text: its URL begins with neither `https:` nor `data:`")
        });
        assert_eq!(unsent_media(&input), told);
        assert_eq!(unsent_media(&json(r#""_a_media_input""#)), [""; 0]);
    }

    #[test]
    fn a_comment_is_a_line_before_its_pair() {
        let example = Example {
            input: json("1"),
            output: json(r#""one""#),
            comment: Some("a number".to_owned()),
        };

        assert_eq!(
            demonstration(&example, &Form::Plain),
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
        let demand = Form::Plain.demand(Some(&json("{}")));
        let both = system("Do.", demand).unwrap();
        assert_eq!(
            both,
            Message::text(Role::System, format!("Do.\n\n{DEMAND}\n{{}}"))
        );
    }
}
