//! The subset of JSON Schema that the provider holds answers to, and schemas brought into it.
//! <https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations>
//!
//! Keywords that the subset lacks are left out where that only allows more: the answer is checked again. A schema that
//! would come out narrower, or is too large, is not carried. Objects with properties and without a word on others are
//! taken for closed, as everybody means them.

use domain::{Json, JsonObject};

use crate::schema::{
    DEFINITIONS, Fate, Subset, closed, is_format, list, object, of_types, speaks_of_members, types,
};

/// Over the whole schema, and over all schemas of a request.
const MAX_OPTIONAL: usize = 24;
const MAX_CHOICES: usize = 16;
/// How many tools of a request may be held to their schemas.
const MAX_TOOLS: usize = 20;

/// Keywords that are brought along in another way than as they are, or allow and forbid nothing.
const NOTHING_LOST: [&str; 12] = [
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "$comment",
    "$schema",
];

/// The schema in the subset, if that can carry it.
pub(super) fn carried(schema: &Json) -> Option<Json> {
    let carried = carry(schema)?;
    Some(carried.schema)
}

/// How much the schemas of one request may still have.
#[derive(Debug)]
pub(super) struct Room {
    tools: usize,
    optional: usize,
    choices: usize,
}

impl Room {
    /// What there is beside an answer's own schema.
    pub(super) fn beside(answer: Option<&Json>) -> Self {
        let answer = answer.and_then(carry);
        let (optional, choices) = answer.map_or((0, 0), |it| (it.optional, it.choices));
        Self {
            tools: MAX_TOOLS,
            optional: MAX_OPTIONAL - optional,
            choices: MAX_CHOICES - choices,
        }
    }

    /// Takes in the schema of a tool, if it can be carried without a loss and there is room for it.
    pub(super) fn take(&mut self, schema: &Json) -> Option<Json> {
        let carried = carry(schema).filter(|carried| !carried.is_looser)?;
        *self = Self {
            tools: self.tools.checked_sub(1)?,
            optional: self.optional.checked_sub(carried.optional)?,
            choices: self.choices.checked_sub(carried.choices)?,
        };
        Some(carried.schema)
    }
}

/// A schema in the subset.
struct Carried {
    schema: Json,
    optional: usize,
    choices: usize,
    /// Whether it allows more than it did.
    is_looser: bool,
}

fn carry(schema: &Json) -> Option<Carried> {
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
        is_looser: false,
    };
    let mut carried = carrying.members(&root)?;
    let (optional, choices) = (carrying.optional, carrying.choices);
    let is_looser = carrying.is_looser;
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
    Some(Carried {
        schema: Json::of(&carried),
        optional,
        choices,
        is_looser,
    })
}

struct Carrying<'a> {
    definitions: &'a [(&'static str, JsonObject)],
    /// The definitions that are being carried: a reference to one of them would be a circle, which the subset lacks.
    within: Vec<(&'static str, String)>,
    done: Vec<(&'static str, String, Json)>,
    optional: usize,
    choices: usize,
    is_looser: bool,
}

impl Subset for Carrying<'_> {
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
        let is = |name: &str| types(members).is_some_and(|types| types.iter().any(|it| it == name));
        Some(match keyword {
            "title" | "description" => Fate::Kept,
            "enum" if list(value)?.iter().all(is_scalar) => Fate::Kept,
            "const" if is_scalar(value) => Fate::Kept,
            "format" if is("string") && is_format(value) => Fate::Kept,
            "minItems" if value.text() == "0" => Fate::Left,
            "minItems" if is("array") => {
                self.is_looser |= value.text() != "1";
                Fate::Instead(keyword, Json::of(&1))
            }
            _ => {
                self.is_looser |= !NOTHING_LOST.contains(&keyword);
                Fate::Left
            }
        })
    }
}

impl Carrying<'_> {
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
            return self.choices(schema, keyword, choices);
        }
        let types = types(schema)?;
        let is = |name: &str| types.iter().any(|it| it == name);
        if types.len() != 1 {
            self.count_choice()?;
        }
        let mut carried = JsonObject::from_iter([("type".to_owned(), of_types(&types))]);
        carried.extend(self.walked(schema)?);
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
        let (properties, required) = closed(schema)?;
        let is_optional = |name: &&String| !required.contains(name);
        self.optional += properties.keys().filter(is_optional).count();
        let properties = self.named(&properties)?;
        carried.insert("properties".to_owned(), Json::of(&properties));
        carried.insert("required".to_owned(), Json::of(&required));
        carried.insert("additionalProperties".to_owned(), Json::of(&false));
        (self.optional <= MAX_OPTIONAL).then_some(())
    }

    fn choices(
        &mut self,
        schema: &JsonObject,
        keyword: &str,
        choices: &Json,
    ) -> Option<JsonObject> {
        let several = list(choices)?;
        if let ("allOf", [only]) = (keyword, several.as_slice()) {
            return self.members(&object(only)?);
        }
        if keyword == "allOf" || several.is_empty() {
            return None;
        }
        self.count_choice()?;
        let description = schema.get("description");
        let description = description.map(|it| ("description".to_owned(), it.clone()));
        let choices = ("anyOf".to_owned(), self.inside(keyword, choices)?);
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
    let is_alone = !schema.contains_key("properties") && !speaks_of_members(schema, keyword);
    is_alone.then_some(())
}

fn is_scalar(value: &Json) -> bool {
    !value.text().starts_with(['{', '['])
}

#[cfg(test)]
mod tests;
