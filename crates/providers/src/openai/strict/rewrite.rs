//! Schemas brought into the subset.

use domain::{Json, JsonObject};

use super::{Limits, shape::Shape};
use crate::schema::{DEFINITIONS, Fate, Subset, closed, is_format, list, object, of_types, types};

/// Of one list of allowed texts that is longer than [`LONG_LIST`].
const MAX_LIST_CHARACTERS: usize = 15_000;
const LONG_LIST: usize = 250;

/// A schema in the subset.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::openai) struct Strict {
    /// The schema.
    pub(in crate::openai) schema: Json,
    /// Whether an optional property was made one that may be `null`.
    pub(in crate::openai) is_filled: bool,
}

/// The schema in the subset, if that can carry it.
pub(in crate::openai) fn rewritten(schema: &Json, limits: &Limits) -> Option<Strict> {
    let root = object(schema)?;
    if root.get("type")?.text() != "\"object\"" || root.contains_key("anyOf") {
        return None;
    }
    let mut rewriting = Rewriting {
        left: *limits,
        shape: Shape::of(schema),
        is_filled: false,
        is_ambiguous: false,
    };
    let mut definitions = JsonObject::new();
    let mut value = JsonObject::new();
    for (keyword, content) in root {
        if DEFINITIONS.contains(&keyword.as_str()) {
            let names = object(&content)?;
            let characters = names.keys().map(|name| name.chars().count()).sum();
            rewriting.take_characters(characters)?;
            definitions.insert(keyword.clone(), rewriting.inside(&keyword, &content)?);
        } else {
            value.insert(keyword, content);
        }
    }
    let mut root = rewriting.members(&value)?;
    root.extend(definitions);
    // Where two choices look alike, nobody could tell which of them a member was filled in for.
    if rewriting.is_filled && rewriting.is_ambiguous {
        return None;
    }
    Some(Strict {
        schema: Json::of(&root),
        is_filled: rewriting.is_filled,
    })
}

struct Rewriting {
    /// Used up on the way.
    left: Limits,
    shape: Shape,
    is_filled: bool,
    is_ambiguous: bool,
}

impl Subset for Rewriting {
    fn schema(&mut self, schema: &Json) -> Option<Json> {
        let schema = self.members(&object(schema)?)?;
        Some(Json::of(&schema))
    }

    fn fate<'a>(
        &mut self,
        keyword: &'a str,
        value: &Json,
        members: &JsonObject,
    ) -> Option<Fate<'a>> {
        let has_bounds = self.left.has_bounds;
        Some(match keyword {
            "description" => Fate::Kept,
            annotation if is_annotation(annotation) => Fate::Left,
            "anyOf" => Fate::Inside(keyword),
            // Nothing else stands beside choices.
            _ if members.contains_key("anyOf") => return None,
            "type" | "properties" | "required" | "additionalProperties" | "items" => Fate::Left,
            "enum" => {
                self.take_values(&list(value)?)?;
                Fate::Kept
            }
            "const" => {
                self.take_values(std::slice::from_ref(value))?;
                Fate::Kept
            }
            // Not asserted, so one that the subset lacks can go.
            "format" if !has_bounds || !is_format(value) || value.text() == "\"uri\"" => Fate::Left,
            "pattern" if is_look_around(value) => return None,
            "format" | "pattern" | "multipleOf" | "minimum" | "maximum" | "exclusiveMinimum"
            | "exclusiveMaximum" | "minItems" | "maxItems"
                if has_bounds =>
            {
                Fate::Kept
            }
            _ => return None,
        })
    }
}

impl Rewriting {
    fn members(&mut self, schema: &JsonObject) -> Option<JsonObject> {
        if schema.contains_key("$ref") {
            return self.reference(schema);
        }
        if schema.contains_key("anyOf") {
            let out = self.walked(schema)?;
            self.is_ambiguous |= self.shape.is_ambiguous(&Json::of(schema).to_value())?;
            return Some(out);
        }
        let types = types(schema)?;
        let mut out = JsonObject::from_iter([("type".to_owned(), of_types(&types))]);
        out.extend(self.walked(schema)?);
        let is_nested = types.iter().any(|it| it == "object" || it == "array");
        self.left.depth = self.left.depth.checked_sub(usize::from(is_nested))?;
        self.inner(schema, &types, &mut out)?;
        self.left.depth += usize::from(is_nested);
        Some(out)
    }

    /// Adds what stands within objects and lists.
    fn inner(&mut self, schema: &JsonObject, types: &[String], out: &mut JsonObject) -> Option<()> {
        let has = |name: &str| types.iter().any(|it| it == name);
        match schema.get("items") {
            Some(items) if has("array") => {
                out.insert("items".to_owned(), self.schema(items)?);
            }
            Some(_) => return None,
            None if has("array") => return None,
            None => {}
        }
        match schema.get("properties") {
            Some(_) if has("object") => self.object(schema, out),
            // Any object at all is none that the subset knows.
            Some(_) => None,
            None if has("object") => None,
            None => (!schema.contains_key("required")).then_some(()),
        }
    }

    fn object(&mut self, schema: &JsonObject, out: &mut JsonObject) -> Option<()> {
        let (properties, required) = closed(schema)?;
        self.left.properties = self.left.properties.checked_sub(properties.len())?;
        let mut inner = JsonObject::new();
        for (name, property) in &properties {
            self.take_characters(name.chars().count())?;
            let mut rewritten = self.schema(property)?;
            let may_be_null = self.shape.may_be_null(&property.to_value())?;
            if !may_be_null && !required.contains(name) {
                rewritten = nullable(&rewritten);
                self.is_filled = true;
            }
            inner.insert(name.clone(), rewritten);
        }
        let names: Vec<&String> = inner.keys().collect();
        out.insert("required".to_owned(), Json::of(&names));
        out.insert("properties".to_owned(), Json::of(&inner));
        out.insert("additionalProperties".to_owned(), Json::of(&false));
        Some(())
    }

    /// A reference, which stands alone in the subset.
    fn reference(&self, schema: &JsonObject) -> Option<JsonObject> {
        let is_bare = |keyword: &String| {
            matches!(keyword.as_str(), "$ref" | "description") || is_annotation(keyword)
        };
        if !self.left.has_references || !schema.keys().all(is_bare) {
            return None;
        }
        let reference = schema.get("$ref")?.clone();
        let alone = JsonObject::from_iter([("$ref".to_owned(), reference)]);
        self.shape.choices(&Json::of(&alone).to_value())?;
        Some(alone)
    }

    fn take_values(&mut self, values: &[Json]) -> Option<()> {
        let characters = values.iter().map(|value| value.text().chars().count());
        let characters = characters.sum();
        if values.len() > LONG_LIST && characters > MAX_LIST_CHARACTERS {
            return None;
        }
        self.left.values = self.left.values.checked_sub(values.len())?;
        self.take_characters(characters)
    }

    fn take_characters(&mut self, count: usize) -> Option<()> {
        self.left.characters = self.left.characters.checked_sub(count)?;
        Some(())
    }
}

/// What says nothing of which values fit; the whole schema stands in the prompt.
fn is_annotation(keyword: &str) -> bool {
    matches!(
        keyword,
        "title"
            | "default"
            | "examples"
            | "deprecated"
            | "readOnly"
            | "writeOnly"
            | "$schema"
            | "$comment"
    )
}

/// Whether a pattern looks ahead, behind or back, which no grammar can.
fn is_look_around(pattern: &Json) -> bool {
    let Some(pattern) = pattern.as_string() else {
        return true;
    };
    let has_back_reference = pattern
        .as_bytes()
        .windows(2)
        .any(|pair| pair[0] == b'\\' && (pair[1].is_ascii_digit() || pair[1] == b'k'));
    pattern.contains("(?") || has_back_reference
}

/// The same, or `null`.
fn nullable(schema: &Json) -> Json {
    let null = JsonObject::from_iter([("type".to_owned(), Json::of(&"null"))]);
    let choices = [schema.clone(), Json::of(&null)];
    Json::of(&JsonObject::from_iter([(
        "anyOf".to_owned(),
        Json::of(&choices),
    )]))
}
