//! JSON Schemas brought into the part of the language that a host reads: the walk through one, and what is told of a
//! schema on the way.
//!
//! Which keywords a host takes, and how much of them, is a [`Subset`] beside its dialect.

use domain::{Json, JsonObject};

/// Where definitions stand, by the newest draft and by older ones.
pub(crate) const DEFINITIONS: [&str; 2] = ["$defs", "definitions"];
/// Formats that answers are held to; `OpenAI` knows no `uri`.
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
/// Keywords that may speak of an object's members, beside `properties`.
const MEMBERS: [&str; 13] = [
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

/// What becomes of a keyword.
pub(crate) enum Fate<'a> {
    /// It goes as it is.
    Kept,
    /// It goes under that name, and the schemas in it as their own fate is.
    Inside(&'a str),
    /// This goes in its place.
    Instead(&'a str, Json),
    /// It is left out: what goes allows more then, never less.
    Left,
}

/// The part of the language that a host reads.
pub(crate) trait Subset {
    /// The schema in the subset; `None` if that cannot carry it.
    fn schema(&mut self, schema: &Json) -> Option<Json>;

    /// What becomes of one keyword among its `members`; `None` if the schema cannot be carried with it.
    fn fate<'a>(
        &mut self,
        keyword: &'a str,
        value: &Json,
        members: &JsonObject,
    ) -> Option<Fate<'a>>;

    /// The members of a schema, in their order, each as its fate is.
    fn walked(&mut self, members: &JsonObject) -> Option<JsonObject> {
        let mut out = JsonObject::new();
        for (keyword, value) in members {
            let (name, value) = match self.fate(keyword, value, members)? {
                Fate::Kept => (keyword.as_str(), value.clone()),
                Fate::Inside(name) => (name, self.inside(keyword, value)?),
                Fate::Instead(name, value) => (name, value),
                Fate::Left => continue,
            };
            out.insert(name.to_owned(), value);
        }
        Some(out)
    }

    /// The schemas that stand in the value of a keyword.
    fn inside(&mut self, keyword: &str, value: &Json) -> Option<Json> {
        match keyword {
            "properties" | "$defs" | "definitions" => Some(Json::of(&self.named(&object(value)?)?)),
            "anyOf" | "oneOf" | "prefixItems" => {
                let schemas = list(value)?;
                let schemas = schemas.iter().map(|schema| self.schema(schema));
                Some(Json::of(&schemas.collect::<Option<Vec<Json>>>()?))
            }
            _ => self.schema(value),
        }
    }

    /// Schemas by their names.
    fn named(&mut self, schemas: &JsonObject) -> Option<JsonObject> {
        let schemas = schemas.iter();
        let schemas = schemas.map(|(name, schema)| Some((name.clone(), self.schema(schema)?)));
        schemas.collect()
    }
}

/// The properties of an object without any others, and which of them it must have; `None` if it may have others or
/// must. One that has properties and no word on others is taken for closed, as everybody means it.
pub(crate) fn closed(schema: &JsonObject) -> Option<(JsonObject, Vec<String>)> {
    let properties = schema.get("properties");
    let properties = properties.map_or_else(|| Some(JsonObject::new()), object)?;
    let is_closed = match schema.get("additionalProperties") {
        Some(more) => more.text() == "false" && !schema.contains_key("patternProperties"),
        None => !properties.is_empty() && !speaks_of_members(schema, ""),
    };
    let required: Vec<String> = match schema.get("required") {
        Some(required) => serde_json::from_str(required.text()).ok()?,
        None => Vec::new(),
    };
    let is_known = |name: &String| properties.contains_key(name);
    (is_closed && required.iter().all(is_known)).then_some((properties, required))
}

/// Whether a keyword beside `properties` and that one may speak of an object's members.
pub(crate) fn speaks_of_members(schema: &JsonObject, but: &str) -> bool {
    let mut others = MEMBERS.iter().filter(|keyword| **keyword != but);
    others.any(|keyword| schema.contains_key(*keyword))
}

/// The members of a schema that has any.
pub(crate) fn object(schema: &Json) -> Option<JsonObject> {
    serde_json::from_str(schema.text()).ok()
}

/// The items of a list.
pub(crate) fn list(values: &Json) -> Option<Vec<Json>> {
    serde_json::from_str(values.text()).ok()
}

/// Whether it is one of the formats that answers are held to.
pub(crate) fn is_format(format: &Json) -> bool {
    let format = format.as_string();
    format.is_some_and(|format| FORMATS.contains(&format.as_str()))
}

/// The names of a value's types; of its allowed values' types, where it has none.
pub(crate) fn types(schema: &JsonObject) -> Option<Vec<String>> {
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

/// The names of types as a schema has them.
pub(crate) fn of_types(types: &[String]) -> Json {
    match types {
        [name] => Json::of(name),
        types => Json::of(&types),
    }
}
