//! The subset of JSON Schema that the provider holds answers to, and schemas brought into it.
//! <https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations>
//!
//! Keywords that the subset lacks are left out where that only allows more: the answer is checked again. A schema that
//! would come out narrower, or is too large, is not carried. Objects with properties and without a word on others are
//! taken for closed, as everybody means them.

use domain::{Json, JsonObject};

/// Over the whole schema.
const MAX_OPTIONAL: usize = 24;
const MAX_CHOICES: usize = 16;
const DEFINITIONS: [&str; 2] = ["$defs", "definitions"];
const FORMATS: [&str; 10] = [
    "date-time",
    "time",
    "date",
    "duration",
    "email",
    "hostname",
    "uri",
    "ipv4",
    "ipv6",
    "uuid",
];
/// Keywords that may speak of members of the same object. Of those only one can be carried.
const MEMBERS: [&str; 14] = [
    "properties",
    "additionalProperties",
    "patternProperties",
    "unevaluatedProperties",
    "dependentSchemas",
    "allOf",
    "anyOf",
    "oneOf",
    "if",
    "then",
    "else",
    "$ref",
    "$dynamicRef",
    "$recursiveRef",
];

/// The schema in the subset, if that can carry it.
pub(super) fn carried(schema: &Json) -> Option<Json> {
    let mut root = object(schema)?;
    let mut definitions = Vec::new();
    for keyword in DEFINITIONS {
        if let Some(schemas) = root.shift_remove(keyword) {
            definitions.push((keyword, object(&schemas)?));
        }
    }
    let mut carrying = Carrying {
        definitions: &definitions,
        within: Vec::new(),
        done: Vec::new(),
        optional: 0,
        choices: 0,
    };
    let mut carried = carrying.members(&root)?;
    // Only those that something points at.
    let done = carrying.done;
    for (keyword, _) in &definitions {
        let schemas: JsonObject = done
            .iter()
            .filter(|(of, ..)| of == keyword)
            .map(|(_, name, schema)| (name.clone(), schema.clone()))
            .collect();
        if !schemas.is_empty() {
            carried.insert((*keyword).to_owned(), Json::of(&schemas));
        }
    }
    Some(Json::of(&carried))
}

struct Carrying<'a> {
    definitions: &'a [(&'static str, JsonObject)],
    /// The definitions that are being carried: a reference to one of them would be a circle, which the subset lacks.
    within: Vec<(&'static str, String)>,
    done: Vec<(&'static str, String, Json)>,
    optional: usize,
    choices: usize,
}

impl Carrying<'_> {
    fn schema(&mut self, schema: &Json) -> Option<Json> {
        let schema = self.members(&object(schema)?)?;
        Some(Json::of(&schema))
    }

    fn members(&mut self, schema: &JsonObject) -> Option<JsonObject> {
        if let Some(reference) = schema.get("$ref") {
            stands_alone("$ref", schema)?;
            self.reference(&reference.as_string()?)?;
            let alone = ("$ref".to_owned(), reference.clone());
            return Some(JsonObject::from_iter([alone]));
        }
        let choices = ["anyOf", "oneOf", "allOf"];
        let choices = choices
            .into_iter()
            .find_map(|it| Some((it, schema.get(it)?)));
        if let Some((keyword, choices)) = choices {
            stands_alone(keyword, schema)?;
            return self.choices(schema, keyword, &list(choices)?);
        }
        let types = types(schema)?;
        let is = |name: &str| types.iter().any(|it| it == name);
        let mut carried = JsonObject::new();
        let kind = match types.as_slice() {
            [name] => Json::of(name),
            types => {
                self.count_choice()?;
                Json::of(&types)
            }
        };
        carried.insert("type".to_owned(), kind);
        for (keyword, value) in schema {
            let value = match keyword.as_str() {
                "title" | "description" => value.clone(),
                "enum" if list(value)?.iter().all(is_scalar) => value.clone(),
                "const" if is_scalar(value) => value.clone(),
                "format" if is("string") && is_format(value) => value.clone(),
                "minItems" if is("array") && value.text() != "0" => Json::of(&1),
                _ => continue,
            };
            carried.insert(keyword.clone(), value);
        }
        if is("array") {
            let items = self.schema(schema.get("items")?)?;
            carried.insert("items".to_owned(), items);
        }
        if is("object") {
            self.object(schema, &mut carried)?;
        }
        Some(carried)
    }

    fn object(&mut self, schema: &JsonObject, carried: &mut JsonObject) -> Option<()> {
        let properties = schema.get("properties");
        let properties = properties.map_or_else(|| Some(JsonObject::new()), object)?;
        let more = schema.get("additionalProperties").map(Json::text);
        let has = |keyword: &&str| schema.contains_key(*keyword);
        let is_closed = match more {
            Some(more) => more == "false" && !has(&"patternProperties"),
            None => !properties.is_empty() && !MEMBERS[1..].iter().any(has),
        };
        let required: Vec<String> = match schema.get("required") {
            Some(required) => serde_json::from_str(required.text()).ok()?,
            None => Vec::new(),
        };
        let is_known = |name: &String| properties.contains_key(name);
        if !is_closed || !required.iter().all(is_known) {
            return None;
        }
        let is_optional = |name: &&String| !required.contains(name);
        self.optional += properties.keys().filter(is_optional).count();
        let mut inner = JsonObject::new();
        for (name, property) in &properties {
            inner.insert(name.clone(), self.schema(property)?);
        }
        carried.insert("properties".to_owned(), Json::of(&inner));
        carried.insert("required".to_owned(), Json::of(&required));
        carried.insert("additionalProperties".to_owned(), Json::of(&false));
        (self.optional <= MAX_OPTIONAL).then_some(())
    }

    fn choices(
        &mut self,
        schema: &JsonObject,
        keyword: &str,
        choices: &[Json],
    ) -> Option<JsonObject> {
        if let ("allOf", [only]) = (keyword, choices) {
            return self.members(&object(only)?);
        }
        if keyword == "allOf" || choices.is_empty() {
            return None;
        }
        self.count_choice()?;
        let carried = choices.iter().map(|choice| self.schema(choice));
        let carried: Vec<Json> = carried.collect::<Option<_>>()?;
        let description = schema.get("description");
        let description = description.map(|it| ("description".to_owned(), it.clone()));
        let choices = ("anyOf".to_owned(), Json::of(&carried));
        Some(description.into_iter().chain([choices]).collect())
    }

    fn count_choice(&mut self) -> Option<()> {
        self.choices += 1;
        (self.choices <= MAX_CHOICES).then_some(())
    }

    /// Carries the definition that is pointed at, unless it has been.
    fn reference(&mut self, reference: &str) -> Option<()> {
        let (keyword, name) = reference.strip_prefix("#/")?.split_once('/')?;
        let definitions = self.definitions.iter();
        let (keyword, schemas) = definitions.into_iter().find(|(it, _)| *it == keyword)?;
        let is_it = |(of, it): (&str, &String)| of == *keyword && it == name;
        if self.done.iter().any(|(of, it, _)| is_it((of, it))) {
            return Some(());
        }
        if self.within.iter().any(|(of, it)| is_it((of, it))) {
            return None;
        }
        let schema = schemas.get(name)?.clone();
        self.within.push((keyword, name.to_owned()));
        let schema = self.schema(&schema)?;
        self.within.pop();
        self.done.push((keyword, name.to_owned(), schema));
        Some(())
    }
}

/// Nothing if anything else speaks of the same object's members.
fn stands_alone(keyword: &str, schema: &JsonObject) -> Option<()> {
    let mut others = MEMBERS.iter().filter(|it| **it != keyword);
    let is_alone = !others.any(|it| schema.contains_key(*it));
    is_alone.then_some(())
}

fn object(schema: &Json) -> Option<JsonObject> {
    serde_json::from_str(schema.text()).ok()
}

fn list(values: &Json) -> Option<Vec<Json>> {
    serde_json::from_str(values.text()).ok()
}

fn is_scalar(value: &Json) -> bool {
    !value.text().starts_with(['{', '['])
}

fn is_format(format: &Json) -> bool {
    let format = format.as_string();
    format.is_some_and(|format| FORMATS.contains(&format.as_str()))
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

#[cfg(test)]
mod tests;
