//! What a schema says of the shape of values: which objects a value may be, whether it may be `null`.

use domain::{Json, JsonObject};
use serde_json::{Map, Value};

/// How many schemas are looked at for one question; references make it easy to ask for endless ones.
const MAX_STEPS: usize = 256;

/// A schema with what its references lead to.
pub(super) struct Shape {
    root: Value,
}

impl Shape {
    /// The shape of a whole schema.
    pub(super) fn of(schema: &Json) -> Self {
        Self {
            root: schema.to_value(),
        }
    }

    /// The schemas without references and choices that `schema` stands for; `None` if that cannot be told.
    pub(super) fn choices<'a>(&'a self, schema: &'a Value) -> Option<Vec<&'a Map<String, Value>>> {
        let mut open = vec![schema];
        let mut found = Vec::new();
        for _ in 0..MAX_STEPS {
            let Some(next) = open.pop() else {
                return Some(found);
            };
            let schema = next.as_object()?;
            if let Some(reference) = schema.get("$ref") {
                open.push(self.definition(reference.as_str()?)?);
            } else if let Some(choices) = schema.get("anyOf") {
                open.extend(choices.as_array()?);
            } else {
                found.push(schema);
            }
        }
        None
    }

    /// What a reference leads to: the root, or a definition in it.
    fn definition(&self, reference: &str) -> Option<&Value> {
        let Some(path) = reference.strip_prefix("#/") else {
            return (reference == "#").then_some(&self.root);
        };
        let (place, name) = path.split_once('/')?;
        let is_plain = !name.contains(['/', '~', '%']);
        let is_place = matches!(place, "$defs" | "definitions");
        (is_place && is_plain).then(|| self.root.get(place)?.get(name))?
    }

    /// Whether a value may be `null` by its own schema; `None` if that cannot be told.
    pub(super) fn may_be_null(&self, schema: &Value) -> Option<bool> {
        let choices = self.choices(schema)?;
        let takes_null = |schema: &&Map<String, Value>| {
            let is_type = match schema.get("type") {
                Some(Value::Array(types)) => types.iter().any(|name| name == "null"),
                Some(name) => name == "null",
                None => true,
            };
            let values = schema.get("enum").and_then(Value::as_array);
            let is_listed = values.is_none_or(|values| values.iter().any(Value::is_null));
            is_type && is_listed && schema.get("const").is_none_or(Value::is_null)
        };
        Some(choices.iter().any(takes_null))
    }

    /// Whether a value of one choice could be taken for one of another: objects of the same properties, two lists.
    pub(super) fn is_ambiguous(&self, schema: &Value) -> Option<bool> {
        let choices = self.choices(schema)?;
        let lists = choices.iter().filter(|choice| choice.contains_key("items"));
        let mut objects: Vec<Vec<&String>> = Vec::new();
        for properties in choices.iter().filter_map(|choice| properties(choice)) {
            let mut names: Vec<&String> = properties.keys().collect();
            names.sort_unstable();
            if objects.contains(&names) {
                return Some(true);
            }
            objects.push(names);
        }
        Some(lists.count() > 1)
    }

    /// The value without the `null`s that stand for members left out; `None` if there are none.
    fn emptied(&self, schema: &Value, value: &Json) -> Option<Json> {
        let choices = self.choices(schema)?;
        if value.is_object() {
            let members: JsonObject = serde_json::from_str(value.text()).ok()?;
            let is_it = |properties: &&Map<String, Value>| {
                let mut names = members.keys();
                properties.len() == members.len() && names.all(|name| properties.contains_key(name))
            };
            let mut objects = choices.iter();
            let (choice, properties) = objects.find_map(|choice| {
                let properties = properties(choice).filter(is_it)?;
                Some((*choice, properties))
            })?;
            return self.emptied_object(choice, properties, &members);
        }
        if value.text().starts_with('[') {
            let items: Vec<Json> = serde_json::from_str(value.text()).ok()?;
            let schema = choices.iter().find_map(|choice| choice.get("items"))?;
            let emptied = items.iter().map(|item| self.emptied(schema, item));
            let emptied: Vec<Option<Json>> = emptied.collect();
            if emptied.iter().all(Option::is_none) {
                return None;
            }
            let items = emptied.into_iter().zip(items);
            let items = items.map(|(emptied, item)| emptied.unwrap_or(item));
            return Some(Json::of(&items.collect::<Vec<_>>()));
        }
        None
    }

    fn emptied_object(
        &self,
        schema: &Map<String, Value>,
        properties: &Map<String, Value>,
        members: &JsonObject,
    ) -> Option<Json> {
        let mut kept = JsonObject::new();
        let mut is_changed = false;
        for (name, member) in members {
            let property = properties.get(name)?;
            if member.is_null() && self.is_filled(schema, name, property) {
                is_changed = true;
                continue;
            }
            let emptied = self.emptied(property, member);
            is_changed |= emptied.is_some();
            kept.insert(name.clone(), emptied.unwrap_or_else(|| member.clone()));
        }
        is_changed.then(|| Json::of(&kept))
    }

    /// Whether a property may be `null` only because it cannot be left out.
    fn is_filled(&self, schema: &Map<String, Value>, name: &str, property: &Value) -> bool {
        !is_required(schema, name) && self.may_be_null(property) == Some(false)
    }
}

fn properties(schema: &Map<String, Value>) -> Option<&Map<String, Value>> {
    schema.get("properties").and_then(Value::as_object)
}

/// Whether an object must have a property.
fn is_required(schema: &Map<String, Value>, name: &str) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    required.is_some_and(|required| required.iter().any(|it| it == name))
}

/// An answer in the subset, as the schema itself would have it: members that are `null` only because they could not be
/// left out are. All else keeps its text; what is no answer in the subset is left as it is.
pub(in crate::openai) fn emptied(schema: &Json, answer: String) -> String {
    let Ok(value) = Json::parse(&answer) else {
        return answer;
    };
    let shape = Shape::of(schema);
    let emptied = shape.emptied(&shape.root, &value);
    emptied.map_or(answer, |value| value.text().to_owned())
}
