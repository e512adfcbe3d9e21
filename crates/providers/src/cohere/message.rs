//! The conversation, turn by turn.

use domain::{
    ChatRequest, Message, Part, Role,
    seams::{ProviderError, ProviderErrorKind, Target},
};
use serde::Serialize;

use crate::openai::function::Call;

#[derive(Serialize)]
pub(super) struct Turn<'a> {
    role: Role,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_plan: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<Content<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Text(String),
    Parts(Vec<Piece<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Piece<'a> {
    Text { text: &'a str },
    ImageUrl { image_url: Address<'a> },
}

#[derive(Serialize)]
struct Address<'a> {
    url: &'a str,
}

/// The turns. Instructions stand first, all in one; without any other turn, they are what is asked, for a system turn
/// alone is refused.
pub(super) fn messages<'a>(
    target: &Target,
    request: &'a ChatRequest,
) -> Result<Vec<Turn<'a>>, ProviderError> {
    let (system, others): (Vec<&Message>, Vec<&Message>) = request
        .messages
        .iter()
        .partition(|message| message.role == Role::System);
    let system: Result<Vec<String>, ProviderError> = system
        .into_iter()
        .map(|message| text(target, message))
        .collect();
    let system = system?.join("\n\n");
    let role = if others.is_empty() {
        Role::User
    } else {
        Role::System
    };
    let mut turns = Vec::with_capacity(others.len() + 1);
    if !system.is_empty() {
        turns.push(Turn {
            content: Some(Content::Text(system)),
            ..bare(role)
        });
    }
    for message in others {
        turns.push(turn(target, message)?);
    }
    Ok(turns)
}

const fn bare<'a>(role: Role) -> Turn<'a> {
    Turn {
        role,
        tool_plan: None,
        tool_calls: Vec::new(),
        tool_call_id: None,
        content: None,
    }
}

fn turn<'a>(target: &Target, message: &'a Message) -> Result<Turn<'a>, ProviderError> {
    let turn = match message.role {
        Role::User => Turn {
            content: Some(content(target, message)?),
            ..bare(Role::User)
        },
        Role::Assistant if !message.tool_calls.is_empty() => {
            // What is said before calls has a place of its own.
            let said = text(target, message)?;
            Turn {
                tool_plan: Some(said).filter(|said| !said.is_empty()),
                tool_calls: message.tool_calls.iter().map(Call::of).collect(),
                ..bare(Role::Assistant)
            }
        }
        role => Turn {
            tool_call_id: message.tool_call_id.as_deref(),
            content: Some(Content::Text(text(target, message)?)),
            ..bare(role)
        },
    };
    Ok(turn)
}

fn content<'a>(target: &Target, message: &'a Message) -> Result<Content<'a>, ProviderError> {
    if message
        .parts
        .iter()
        .all(|part| matches!(part, Part::Text(_)))
        && message.parts.len() < 2
    {
        return text(target, message).map(Content::Text);
    }
    let pieces: Result<Vec<Piece>, ProviderError> = message
        .parts
        .iter()
        .map(|part| match part {
            Part::Text(text) => Ok(Piece::Text { text }),
            Part::Image(url) => Ok(Piece::ImageUrl {
                image_url: Address { url },
            }),
            Part::Audio(_) => Err(no_place(target, "sound")),
            Part::File(_) => Err(no_place(target, "documents")),
        })
        .collect();
    pieces.map(Content::Parts)
}

/// The text of a turn that can hold nothing else.
fn text(target: &Target, message: &Message) -> Result<String, ProviderError> {
    let texts: Result<Vec<&str>, ProviderError> = message
        .parts
        .iter()
        .map(|part| match part {
            Part::Text(text) => Ok(text.as_str()),
            Part::Image(_) => Err(no_place(target, "images in this place")),
            Part::Audio(_) => Err(no_place(target, "sound")),
            Part::File(_) => Err(no_place(target, "documents")),
        })
        .collect();
    Ok(texts?.join("\n"))
}

fn no_place(target: &Target, what: &str) -> ProviderError {
    let reason = format!(
        "the model `{}` cannot be given {what}: the dialect of Cohere has text and users' images alone",
        target.name
    );
    ProviderError::new(ProviderErrorKind::Invalid, reason)
}
