//! Schemas brought into the subset.

use domain::{Json, JsonObject};

use super::{Subset, shape::Shape};

/// Of one list of allowed texts that is longer than [`LONG_LIST`].
const MAX_LIST_CHARACTERS: usize = 15_000;
const LONG_LIST: usize = 250;
const DEFINITIONS: [&str; 2] = ["$defs", "definitions"];
const FORMATS: [&str; 9] = [
    "date-time",
    "time",
    "date",
    "duration",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "uuid",
];

/// A schema in the subset.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::openai) struct Strict {
    /// The schema.
    pub(in crate::openai) schema: Json,
    /// Whether an optional property was made one that may be `null`.
    pub(in crate::openai) is_filled: bool,
}

/// The schema in the subset, if that can carry it.
pub(in crate::openai) fn rewritten(schema: &Json, subset: &Subset) -> Option<Strict> {
    let root = object(schema)?;
    if root.get("type")?.text() != "\"object\"" || root.contains_key("anyOf") {
        return None;
    }
    let mut rewriting = Rewriting {
        subset: *subset,
        shape: Shape::of(schema),
        is_filled: false,
        is_ambiguous: false,
    };
    let mut definitions = JsonObject::new();
    let mut value = JsonObject::new();
    for (keyword, content) in root {
        if DEFINITIONS.contains(&keyword.as_str()) {
            let mut inner = JsonObject::new();
            for (name, schema) in object(&content)? {
                rewriting.take_characters(name.chars().count())?;
                inner.insert(name, rewriting.schema(&schema, 0)?);
            }
            definitions.insert(keyword, Json::of(&inner));
        } else {
            value.insert(keyword, content);
        }
    }
    let mut root = rewriting.members(&value, 0)?;
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
    /// Its limits are used up on the way.
    subset: Subset,
    shape: Shape,
    is_filled: bool,
    is_ambiguous: bool,
}

impl Rewriting {
    fn schema(&mut self, schema: &Json, depth: usize) -> Option<Json> {
        self.members(&object(schema)?, depth)
            .map(|schema| Json::of(&schema))
    }

    fn members(&mut self, schema: &JsonObject, depth: usize) -> Option<JsonObject> {
        if schema.contains_key("$ref") {
            return self.reference(schema);
        }
        if schema.contains_key("anyOf") {
            return self.choices(schema, depth);
        }
        let types = types(schema)?;
        let mut out = JsonObject::new();
        out.insert("type".to_owned(), type_json(&types));
        for (keyword, value) in schema {
            let value = match keyword.as_str() {
                "type" | "properties" | "required" | "additionalProperties" | "items" => continue,
                "description" => value.clone(),
                "enum" => {
                    self.take_values(&list(value)?)?;
                    value.clone()
                }
                "const" => {
                    self.take_values(std::slice::from_ref(value))?;
                    value.clone()
                }
                // Not asserted, so one that the subset lacks can go.
                "format" if !self.subset.has_bounds || !is_format(value) => continue,
                "pattern" if is_look_around(value) => return None,
                "format" | "pattern" | "multipleOf" | "minimum" | "maximum"
                | "exclusiveMinimum" | "exclusiveMaximum" | "minItems" | "maxItems"
                    if self.subset.has_bounds =>
                {
                    value.clone()
                }
                annotation if is_annotation(annotation) => continue,
                _ => return None,
            };
            out.insert(keyword.clone(), value);
        }
        self.inner(schema, &types, depth, &mut out)?;
        Some(out)
    }

    /// Adds what stands within objects and lists.
    fn inner(
        &mut self,
        schema: &JsonObject,
        types: &[String],
        depth: usize,
        out: &mut JsonObject,
    ) -> Option<()> {
        let has = |name: &str| types.iter().any(|it| it == name);
        let is_nested = has("object") || has("array");
        let depth = depth + usize::from(is_nested);
        if depth > self.subset.max_depth {
            return None;
        }
        match schema.get("items") {
            Some(items) if has("array") => {
                out.insert("items".to_owned(), self.schema(items, depth)?);
            }
            Some(_) => return None,
            None if has("array") => return None,
            None => {}
        }
        match schema.get("properties") {
            Some(properties) if has("object") => {
                self.object(schema, &object(properties)?, depth, out)
            }
            // Any object at all is none that the subset knows.
            Some(_) => None,
            None if has("object") => None,
            None => (!schema.contains_key("required")).then_some(()),
        }
    }

    fn object(
        &mut self,
        schema: &JsonObject,
        properties: &JsonObject,
        depth: usize,
        out: &mut JsonObject,
    ) -> Option<()> {
        let more = schema.get("additionalProperties").map(Json::text);
        let is_closed = more.map_or(!properties.is_empty(), |more| more == "false");
        let required: Vec<String> = match schema.get("required") {
            Some(required) => serde_json::from_str(required.text()).ok()?,
            None => Vec::new(),
        };
        if !is_closed || !required.iter().all(|name| properties.contains_key(name)) {
            return None;
        }
        let left = self.subset.max_properties.checked_sub(properties.len());
        self.subset.max_properties = left?;
        let mut inner = JsonObject::new();
        for (name, property) in properties {
            self.take_characters(name.chars().count())?;
            let mut rewritten = self.schema(property, depth)?;
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
        if !self.subset.has_references || !schema.keys().all(is_bare) {
            return None;
        }
        let reference = schema.get("$ref")?.clone();
        let alone = JsonObject::from_iter([("$ref".to_owned(), reference)]);
        self.shape.choices(&Json::of(&alone).to_value())?;
        Some(alone)
    }

    fn choices(&mut self, schema: &JsonObject, depth: usize) -> Option<JsonObject> {
        let mut out = JsonObject::new();
        for (keyword, value) in schema {
            match keyword.as_str() {
                "anyOf" => {
                    let choices = list(value)?;
                    let choices = choices.iter().map(|choice| self.schema(choice, depth));
                    let choices: Vec<Json> = choices.collect::<Option<_>>()?;
                    out.insert(keyword.clone(), Json::of(&choices));
                }
                "description" => {
                    out.insert(keyword.clone(), value.clone());
                }
                annotation if is_annotation(annotation) => {}
                _ => return None,
            }
        }
        self.is_ambiguous |= self.shape.is_ambiguous(&Json::of(schema).to_value())?;
        Some(out)
    }

    fn take_values(&mut self, values: &[Json]) -> Option<()> {
        let characters = values.iter().map(|value| value.text().chars().count());
        let characters = characters.sum();
        if values.len() > LONG_LIST && characters > MAX_LIST_CHARACTERS {
            return None;
        }
        self.subset.max_values = self.subset.max_values.checked_sub(values.len())?;
        self.take_characters(characters)
    }

    fn take_characters(&mut self, count: usize) -> Option<()> {
        self.subset.max_characters = self.subset.max_characters.checked_sub(count)?;
        Some(())
    }
}

fn object(schema: &Json) -> Option<JsonObject> {
    serde_json::from_str(schema.text()).ok()
}

fn list(values: &Json) -> Option<Vec<Json>> {
    serde_json::from_str(values.text()).ok()
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

fn is_format(format: &Json) -> bool {
    let format = format.as_string();
    format.is_some_and(|format| FORMATS.contains(&format.as_str()))
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

/// The names of a value's types; of its allowed values' types, where it has none.
fn types(schema: &JsonObject) -> Option<Vec<String>> {
    if let Some(kind) = schema.get("type") {
        return match kind.as_string() {
            Some(name) => Some(vec![name]),
            None => serde_json::from_str(kind.text()).ok(),
        };
    }
    let values = match (schema.get("enum"), schema.get("const")) {
        (Some(values), _) => list(values)?,
        (None, Some(value)) => vec![value.clone()],
        (None, None) => return None,
    };
    let mut types: Vec<String> = Vec::new();
    for value in &values {
        let name = match value.text().as_bytes().first()? {
            b'"' => "string",
            b't' | b'f' => "boolean",
            b'n' => "null",
            b'{' | b'[' => return None,
            _ => "number",
        };
        if !types.iter().any(|it| it == name) {
            types.push(name.to_owned());
        }
    }
    Some(types)
}

fn type_json(types: &[String]) -> Json {
    match types {
        [name] => Json::of(name),
        types => Json::of(&types),
    }
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
