//! What a message, or a piece of one, says beside its calls: text, thoughts, images.
//!
//! Hosts agree on the text; thoughts and images stand wherever each of them puts those.

use serde_json::Value;

use crate::wire::Fault;

/// Names of the thoughts: <https://api-docs.deepseek.com/guides/reasoning_model>, which vLLM and others follow, and
/// <https://console.groq.com/docs/reasoning>, which `OpenRouter` and Together have too. Some give both, with one text.
const THOUGHTS: [&str; 2] = ["reasoning_content", "reasoning"];

/// What was said.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Content {
    /// The text.
    pub(super) text: String,
    /// What the model thought aloud.
    pub(super) reasoning: String,
    /// Images, by URL.
    pub(super) images: Vec<String>,
}

impl Content {
    /// Reads the members of a message.
    pub(super) fn of(message: &Value) -> Result<Self, Fault> {
        let mut said = Self::default();
        match &message["content"] {
            Value::Null => {}
            Value::String(text) => said.text.clone_from(text),
            Value::Array(parts) => {
                for part in parts {
                    said.take(part);
                }
            }
            _ => return Err(Fault::protocol("the content of the answer is no text")),
        }
        let named = THOUGHTS.iter().find_map(|name| {
            let thought = message[name].as_str();
            thought.filter(|thought| !thought.is_empty())
        });
        if let Some(thought) = named {
            thought.clone_into(&mut said.reasoning);
        }
        // https://openrouter.ai/docs/features/multimodal/image-generation
        let beside = message["images"].as_array().into_iter().flatten();
        said.images.extend(beside.filter_map(image));
        Ok(said)
    }

    /// Adds a part of a content that is a list.
    fn take(&mut self, part: &Value) {
        match part["type"].as_str() {
            None | Some("text") => self.text += part["text"].as_str().unwrap_or_default(),
            Some("thinking") => self.reasoning += &thinking(&part["thinking"]),
            Some("image_url" | "output_image") => self.images.extend(image(part)),
            _ => {}
        }
    }

    /// Whether nothing was said.
    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty() && self.reasoning.is_empty() && self.images.is_empty()
    }
}

/// A text, or texts in parts: <https://docs.mistral.ai/capabilities/reasoning/>.
fn thinking(thoughts: &Value) -> String {
    let parts = thoughts.as_array().into_iter().flatten();
    let texts = parts.filter_map(|part| part["text"].as_str());
    thoughts
        .as_str()
        .map_or_else(|| texts.collect(), str::to_owned)
}

/// The address of an image, or its bytes as one.
fn image(part: &Value) -> Option<String> {
    let places = [&part["image_url"]["url"], &part["image_url"], &part["url"]];
    let url = places.into_iter().find_map(Value::as_str);
    let is_url = |url: &&str| {
        ["https:", "http:", "data:"]
            .iter()
            .any(|it| url.starts_with(it))
    };
    let bytes = || {
        let bytes = part["b64_json"].as_str()?;
        Some(format!("data:image/png;base64,{bytes}"))
    };
    url.filter(is_url).map(str::to_owned).or_else(bytes)
}
