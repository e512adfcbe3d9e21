//! Models: their names, what a client writes to choose one, and the ones that a project registers.

use std::fmt;

use indexmap::IndexMap;
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer},
};

use crate::{Invalid, Json, JsonObject, ModelId, ProjectId, Timestamp};

const MAX_FALLBACKS: usize = 16;
const MAX_OPTIONS_BYTES: usize = 64 * 1024;

/// What a model is asked for by: `<provider>/<model>`, or the name of a custom model.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(transparent)]
pub struct ModelName(String);

impl ModelName {
    /// Reads a name: not empty, and with something on both sides of the first slash if there is one.
    ///
    /// # Errors
    /// `string_too_short`, `string_too_long` or `string_pattern_mismatch`.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        match text.split_once('/') {
            _ if text.is_empty() => Err(Invalid::new(
                "string_too_short",
                "a model's name must not be empty",
            )),
            _ if text.chars().count() > 255 => Err(Invalid::new(
                "string_too_long",
                "a model's name has at most 255 characters",
            )),
            Some((provider, model)) if provider.is_empty() || model.is_empty() => {
                Err(Invalid::new(
                    "string_pattern_mismatch",
                    "a model's name has the shape `<provider>/<model_name>`, or is the name of a custom model",
                ))
            }
            _ => Ok(Self(text.to_owned())),
        }
    }

    /// The name's characters.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The parts before and after the first slash.
    pub fn split(&self) -> Option<(&str, &str)> {
        self.0.split_once('/')
    }
}

impl fmt::Display for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for ModelName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(de::Error::custom)
    }
}

/// Reads a custom model's identifier: 1 to 255 characters, with a slash that has something on both sides.
///
/// # Errors
/// As [`ModelName::parse`], and `string_pattern_mismatch` without a slash.
pub fn identifier(text: &str) -> Result<ModelName, Invalid> {
    let name = ModelName::parse(text)?;
    if name.split().is_none() {
        return Err(Invalid::new(
            "string_pattern_mismatch",
            "must have the shape `<provider>/<model_name>`",
        ));
    }
    Ok(name)
}

/// Request headers that a client adds for its model. Names are HTTP tokens, values visible ASCII, spaces and tabs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct ExtraHeaders(IndexMap<String, String>);

impl ExtraHeaders {
    /// Checks names, values and sizes (`reliability.md` 3 and 7).
    ///
    /// # Errors
    /// `header_name`, `header_value` or `too_long`, at the faulty header.
    pub fn parse(headers: IndexMap<String, String>) -> Result<Self, Invalid> {
        let is_token =
            |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        let is_visible = |byte: u8| byte == b'\t' || (b' '..=b'~').contains(&byte);
        if headers.len() > 32 {
            return Err(Invalid::new("too_long", "at most 32 headers"));
        }
        let mut bytes = 0;
        for (name, value) in &headers {
            bytes += name.len() + value.len();
            let fault = if name.is_empty() || name.len() > 128 || !name.bytes().all(is_token) {
                Invalid::new(
                    "header_name",
                    "a header's name is 1 to 128 letters, digits or `-_.` and the like",
                )
            } else if value.len() > 4096 || !value.bytes().all(is_visible) {
                Invalid::new(
                    "header_value",
                    "a header's value is at most 4096 visible ASCII characters",
                )
            } else if bytes > 16 * 1024 {
                Invalid::new("too_long", "all headers together have at most 16 KiB")
            } else {
                continue;
            };
            return Err(fault.at(name.escape_debug().to_string()));
        }
        Ok(Self(headers))
    }

    /// Names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl<'de> Deserialize<'de> for ExtraHeaders {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(IndexMap::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}

/// One model with what is sent along: the object form of a model spec.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ModelChoice {
    /// Whom to ask.
    pub name: ModelName,
    /// Passed to the model on each invocation.
    pub options: JsonObject,
    /// Added to the upstream request.
    pub extra_headers: ExtraHeaders,
}

impl ModelChoice {
    /// A model with nothing sent along.
    pub fn plain(name: ModelName) -> Self {
        Self {
            name,
            options: JsonObject::new(),
            extra_headers: ExtraHeaders::default(),
        }
    }
}

impl<'de> Deserialize<'de> for ModelChoice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// `model` is an alias of `name`: one client's documentation writes it so.
        #[derive(Deserialize)]
        struct Given {
            name: Option<ModelName>,
            model: Option<ModelName>,
            options: Option<JsonObject>,
            extra_headers: Option<ExtraHeaders>,
        }
        let given = Given::deserialize(deserializer)?;
        let name = given
            .name
            .or(given.model)
            .ok_or_else(|| de::Error::missing_field("name"))?;
        let options = given.options.unwrap_or_default();
        let bytes: usize = options
            .iter()
            .map(|(key, value)| key.len() + value.text().len())
            .sum();
        if bytes > MAX_OPTIONS_BYTES {
            return Err(de::Error::custom(Invalid::new(
                "too_long",
                "options have at most 64 KiB",
            )));
        }
        Ok(Self {
            name,
            options,
            extra_headers: given.extra_headers.unwrap_or_default(),
        })
    }
}

/// What a client writes to choose a model: one, or an ordered list to fall back along.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelSpec {
    /// A single model.
    One(ModelChoice),
    /// At least one model, tried in order.
    Fallbacks(Vec<ModelChoice>),
}

impl ModelSpec {
    /// The models in the order in which they are tried.
    pub fn choices(&self) -> &[ModelChoice] {
        match self {
            Self::One(choice) => std::slice::from_ref(choice),
            Self::Fallbacks(choices) => choices,
        }
    }
}

impl Serialize for ModelSpec {
    /// The object form (`interface.md` 2.2), or an array of it.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::One(choice) => choice.serialize(serializer),
            Self::Fallbacks(choices) => choices.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ModelSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SpecVisitor { list_allowed: true })
    }
}

struct SpecVisitor {
    list_allowed: bool,
}

impl<'de> Visitor<'de> for SpecVisitor {
    type Value = ModelSpec;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a model: a name, an object with a `name`, or a list of these")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<ModelSpec, E> {
        let name = ModelName::parse(text).map_err(E::custom)?;
        Ok(ModelSpec::One(ModelChoice::plain(name)))
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<ModelSpec, A::Error> {
        ModelChoice::deserialize(MapAccessDeserializer::new(members)).map(ModelSpec::One)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<ModelSpec, A::Error> {
        if !self.list_allowed {
            return Err(de::Error::custom(Invalid::new(
                "model_type",
                "a list of models holds no further list",
            )));
        }
        let mut choices = Vec::new();
        while let Some(Item(choice)) = items.next_element()? {
            if choices.len() == MAX_FALLBACKS {
                let fault = format!("a list of models has at most {MAX_FALLBACKS} items");
                return Err(de::Error::custom(Invalid::new("too_long", fault)));
            }
            choices.push(choice);
        }
        if choices.is_empty() {
            return Err(de::Error::custom(Invalid::new(
                "too_short",
                "a list of models has at least one item",
            )));
        }
        Ok(ModelSpec::Fallbacks(choices))
    }
}

/// One item of a list of models.
struct Item(ModelChoice);

impl<'de> Deserialize<'de> for Item {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match deserializer.deserialize_any(SpecVisitor {
            list_allowed: false,
        })? {
            ModelSpec::One(choice) => Ok(Self(choice)),
            ModelSpec::Fallbacks(_) => {
                Err(de::Error::custom("a list of models holds no further list"))
            }
        }
    }
}

/// What a custom model is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ModelKind {
    /// Answers chats.
    #[default]
    Llm,
    /// Turns text into vectors.
    Embedding,
    /// Makes images.
    Image,
}

impl ModelKind {
    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Llm => "llm",
            Self::Embedding => "embedding",
            Self::Image => "image",
        }
    }

    /// Reads the word of the wire.
    ///
    /// # Errors
    /// `enum` for another word.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        [Self::Llm, Self::Embedding, Self::Image]
            .into_iter()
            .find(|kind| kind.as_str() == text)
            .ok_or_else(|| Invalid::new("enum", "must be one of: llm, embedding, image"))
    }
}

impl<'de> Deserialize<'de> for ModelKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(de::Error::custom)
    }
}

impl Serialize for ModelKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// A model that a project registered under a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CustomModel {
    /// Its id.
    pub id: ModelId,
    /// The project that owns it.
    pub project: ProjectId,
    /// What it is asked for by, unique in the project.
    pub name: String,
    /// `<provider>/<model_name>`; several registrations may share one.
    pub identifier: ModelName,
    /// Whose dialect and address it has, lower case.
    pub provider: String,
    /// What it is for.
    pub kind: ModelKind,
    /// Provider settings, as given (`interface.md` 5.4).
    pub extra: Json,
    /// The key, sealed; see the engine's vault.
    pub sealed_key: Option<Vec<u8>>,
    /// Counts the changes, so that two writers cannot overwrite each other unseen.
    pub version: i64,
    /// When it was registered.
    pub created_at: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(text: &str) -> Result<ModelSpec, String> {
        serde_json::from_str(text).map_err(|error: serde_json::Error| error.to_string())
    }

    #[test]
    fn every_form_is_answered_in_object_form() {
        let full = r#"{"name":"a/b/c","options":{"temperature":0.10},"extra_headers":{"x-a":"1"}}"#;
        let plain = r#"{"name":"a/b","options":{},"extra_headers":{}}"#;
        let forms = [
            (r#""a/b""#.to_owned(), plain.to_owned()),
            (
                r#"{"name":"a/b","options":null}"#.to_owned(),
                plain.to_owned(),
            ),
            (r#"{"model":"a/b"}"#.to_owned(), plain.to_owned()),
            (full.to_owned(), full.to_owned()),
            (format!(r#"["a/b",{full}]"#), format!("[{plain},{full}]")),
            (r#"["a/b"]"#.to_owned(), format!("[{plain}]")),
        ];

        for (given, answered) in forms {
            assert_eq!(
                serde_json::to_string(&spec(&given).unwrap()).unwrap(),
                answered
            );
        }
    }

    #[test]
    fn what_is_no_spec_is_refused() {
        let many = format!("[{}]", vec![r#""a/b""#; 17].join(","));
        for text in [
            "3",
            "true",
            "[]",
            "{}",
            r#""""#,
            r#""/x""#,
            r#""x/""#,
            r#"[["a/b"]]"#,
            r#"{"name":3}"#,
            "[null]",
            r#"{"name":"a/b","options":[]}"#,
            r#"{"name":"a/b","extra_headers":{"a b":"c"}}"#,
            r#"{"name":"a/b","extra_headers":{"a":"b\r\nc: d"}}"#,
            r#"{"name":"a/b","extra_headers":{"a":1}}"#,
            &many,
        ] {
            assert!(spec(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_identifier_needs_its_slash() {
        assert!(identifier("a/b/c").is_ok());
        for text in ["", "a", "a/", "/b"] {
            assert!(identifier(text).is_err(), "{text}");
        }
        assert!(identifier(&format!("a/{}", "å".repeat(253))).is_ok());
        assert_eq!(
            identifier(&format!("a/{}", "å".repeat(254)))
                .unwrap_err()
                .slug,
            "string_too_long"
        );
    }
}
