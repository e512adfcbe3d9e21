//! Made-up values that satisfy a schema, drawn from the input where names match.
//!
//! What is made is checked; a schema that nothing is found for gets a value all the same, and it may miss.

mod array;
mod object;

use serde_json::{Map, Value, json};

use super::{fits::Document, format, leaf, schema};

/// How much work one value may cost: visits to a schema, and the parts of schemas and inputs that are copied.
const STEPS: usize = 400_000;
const MAX_DEPTH: usize = 48;
const MAX_ITEMS: usize = 1_000;
const BRANCH_TRIES: usize = 3;

/// A value for the schema, the same each time.
pub(super) fn value(schema: &Value, input: &Value) -> Value {
    // First with every property; a schema that is too large for that gets what it requires alone.
    for is_lean in [false, true] {
        let document = Document::new(schema, STEPS);
        let maker = Maker {
            document: &document,
            input,
            is_lean,
        };
        let place = Place {
            name: "",
            drawn: Some(input),
            variant: 0,
            depth: 0,
            references: &[],
        };
        if let Some(value) = maker.make(schema, place) {
            return value;
        }
    }
    let document = Document::new(schema, STEPS);
    let plain = [
        json!(null),
        json!({}),
        json!([]),
        json!(""),
        json!(0),
        json!(false),
    ];
    let fitting = plain.into_iter().find(|value| document.fits(schema, value));
    fitting.unwrap_or(Value::Null)
}

/// A value that misses the schema, if anything does.
pub(super) fn misfit(schema: &Value) -> Value {
    let document = Document::new(schema, STEPS);
    let note = "this misses the schema";
    let values = [
        json!(note),
        json!({ "offline": note }),
        json!({}),
        json!(null),
        json!(-1),
        json!([]),
    ];
    let missing = values
        .into_iter()
        .find(|value| !document.fits(schema, value));
    missing.unwrap_or_else(|| json!(note))
}

struct Maker<'a> {
    document: &'a Document<'a>,
    input: &'a Value,
    is_lean: bool,
}

/// Where in the answer a value is made.
#[derive(Clone, Copy)]
struct Place<'a> {
    /// The name of the member that it is for.
    name: &'a str,
    /// What stands at the same place in the input.
    drawn: Option<&'a Value>,
    /// Values of different variants differ, if the schema lets them.
    variant: usize,
    depth: usize,
    /// The references that led here.
    references: &'a [String],
}

impl Maker<'_> {
    fn make(&self, schema: &Value, place: Place<'_>) -> Option<Value> {
        self.document.spend(1)?;
        if place.depth > MAX_DEPTH {
            return None;
        }
        let empty = Map::new();
        let members = match schema {
            Value::Bool(false) => return None,
            Value::Object(members) => members,
            _ => &empty,
        };
        if let Some(value) = self.given(schema, members, place) {
            return Some(value);
        }
        let deeper = Place {
            depth: place.depth + 1,
            ..place
        };
        if let Some(reference) = members.get("$ref").and_then(Value::as_str) {
            return self.referred(members, reference, deeper);
        }
        if let Some(parts) = members.get("allOf").and_then(Value::as_array) {
            let rest = schema::without(members, &["allOf"]);
            let whole = parts.iter().fold(rest, |whole, part| {
                let part = self.inlined(part, place.references);
                schema::merged(&whole, &part)
            });
            self.document.spend_on(&whole)?;
            let value = self.make(&whole, deeper)?;
            return self.document.fits(schema, &value).then_some(value);
        }
        if let Some(branches) = self.branches(members, place.variant) {
            // What is first made for a branch may satisfy too many of them.
            let variants = place.variant..place.variant + BRANCH_TRIES;
            let tries = branches
                .iter()
                .flat_map(|branch| variants.clone().map(move |variant| (branch, variant)));
            let values = tries
                .filter_map(|(branch, variant)| self.make(branch, Place { variant, ..deeper }));
            let mut values = values.filter(|value| self.document.fits(schema, value));
            return values.next();
        }
        let types = types(members);
        let values = types
            .iter()
            .filter_map(|name| self.of_type(name, members, place));
        let mut values = values.filter(|value| self.document.fits(schema, value));
        values.next()
    }

    /// What the input or the schema itself offers.
    fn given(
        &self,
        schema: &Value,
        members: &Map<String, Value>,
        place: Place<'_>,
    ) -> Option<Value> {
        let list = |keyword: &str| members.get(keyword).and_then(Value::as_array);
        // An object as a whole is no answer: its members are drawn one by one, and the others made.
        let is_input = place
            .drawn
            .is_some_and(|drawn| std::ptr::eq(drawn, self.input));
        let drawn = place.drawn.filter(|drawn| !(is_input && drawn.is_object()));
        let format = members.get("format").and_then(Value::as_str);
        let is_in_format = |drawn: &&Value| match (format, drawn) {
            (Some(format), Value::String(text)) => format::is_in(format, text),
            _ => true,
        };
        let drawn = drawn.filter(|_| place.variant == 0).filter(is_in_format);
        if let Some(drawn) = drawn.filter(|drawn| self.document.fits(schema, drawn)) {
            self.document.spend_on(drawn)?;
            return Some(drawn.clone());
        }
        let named = [members.get("const"), members.get("default")];
        let offered = named.into_iter().flatten();
        let offered = offered.chain(list("examples").into_iter().flatten());
        let offered = offered.chain(list("enum").into_iter().flatten());
        let fitting = offered.filter(|value| self.document.fits(schema, value));
        let fitting: Vec<&Value> = fitting.collect();
        let is_closed = members.contains_key("const") || members.contains_key("enum");
        let at = match fitting.len() {
            // Where nothing else fits, variants come round again.
            count if is_closed && count > 0 => place.variant % count,
            _ => place.variant,
        };
        let given = *fitting.get(at)?;
        self.document.spend_on(given)?;
        Some(given.clone())
    }

    fn referred(
        &self,
        members: &Map<String, Value>,
        reference: &str,
        place: Place<'_>,
    ) -> Option<Value> {
        let most = if self.is_lean { 1 } else { 2 };
        let met = place
            .references
            .iter()
            .filter(|met| *met == reference)
            .count();
        if met >= most {
            return None;
        }
        let target = schema::resolve(self.document.root, reference)?;
        let rest = schema::without(members, &["$ref"]);
        let whole = schema::merged(&rest, target);
        self.document.spend_on(&whole)?;
        let references = [place.references, &[reference.to_owned()]].concat();
        self.make(
            &whole,
            Place {
                references: &references,
                ..place
            },
        )
    }

    /// A part of an `allOf`, its own references and parts put in place.
    fn inlined(&self, part: &Value, references: &[String]) -> Value {
        let Value::Object(members) = part else {
            return part.clone();
        };
        let reference = members.get("$ref").and_then(Value::as_str);
        let parts = members.get("allOf").and_then(Value::as_array);
        if reference.is_none() && parts.is_none() {
            return part.clone();
        }
        if self.document.spend_on(part).is_none() {
            return Value::Bool(false);
        }
        let mut met = references.to_vec();
        let mut whole = schema::without(members, &["$ref", "allOf"]);
        if let Some(reference) = reference {
            let target = schema::resolve(self.document.root, reference);
            let is_met = met.iter().any(|met| met == reference);
            met.push(reference.to_owned());
            match target.filter(|_| !is_met) {
                Some(target) => whole = schema::merged(&whole, &self.inlined(target, &met)),
                None => return Value::Bool(false),
            }
        }
        let parts = parts.into_iter().flatten();
        parts.fold(whole, |whole, part| {
            schema::merged(&whole, &self.inlined(part, &met))
        })
    }

    /// The schemas of which one has to hold, each with what stands beside them.
    fn branches(&self, members: &Map<String, Value>, variant: usize) -> Option<Vec<Value>> {
        let list = |keyword| Some((keyword, members.get(keyword)?.as_array()?));
        if let Some((keyword, given)) = list("anyOf").or_else(|| list("oneOf")) {
            let rest = schema::without(members, &[keyword]);
            let mut branches = Vec::new();
            for branch in given {
                let branch = schema::merged(&rest, branch);
                if self.document.spend_on(&branch).is_none() {
                    break;
                }
                branches.push(branch);
            }
            // `null` is last: a value says more than none.
            branches.sort_by_key(|branch| branch["type"] == "null");
            let turn = variant % branches.len().max(1);
            branches.rotate_left(turn);
            return Some(branches);
        }
        let condition = members.get("if")?;
        let rest = schema::without(members, &["if", "then", "else"]);
        let branch = |keyword: &str| {
            let branch = members.get(keyword).unwrap_or(&Value::Bool(true));
            schema::merged(&rest, branch)
        };
        let then = schema::merged(&branch("then"), condition);
        let branches = vec![then, branch("else"), rest.clone()];
        let affordable = branches
            .iter()
            .all(|branch| self.document.spend_on(branch).is_some());
        affordable.then_some(branches).or_else(|| Some(Vec::new()))
    }

    fn of_type(&self, name: &str, members: &Map<String, Value>, place: Place<'_>) -> Option<Value> {
        match name {
            "object" => self.object(members, place),
            "array" => self.array(members, place),
            "string" => leaf::text(self.document, members, place.name, place.variant),
            "integer" => leaf::integer(members, place.variant),
            "number" => leaf::number(self.document, members, place.variant),
            "boolean" => Some(Value::Bool(place.variant.is_multiple_of(2))),
            "null" => Some(Value::Null),
            _ => None,
        }
    }
}

/// The types that a value may have, the telling ones first.
fn types(members: &Map<String, Value>) -> Vec<&str> {
    if let Some(given) = members.get("type") {
        let mut types = schema::types(given);
        types.sort_by_key(|name| *name == "null");
        return types;
    }
    let telling = [
        (
            "object",
            &[
                "properties",
                "required",
                "additionalProperties",
                "patternProperties",
                "minProperties",
            ][..],
        ),
        (
            "array",
            &[
                "items",
                "prefixItems",
                "minItems",
                "contains",
                "uniqueItems",
            ][..],
        ),
        (
            "number",
            &[
                "minimum",
                "maximum",
                "exclusiveMinimum",
                "exclusiveMaximum",
                "multipleOf",
            ][..],
        ),
    ];
    let told = telling.into_iter();
    let told = told.filter(|(_, keywords)| {
        keywords
            .iter()
            .any(|keyword| members.contains_key(*keyword))
    });
    let mut types: Vec<&str> = told.map(|(name, _)| name).collect();
    types.extend(["string", "number", "object", "array", "boolean", "null"]);
    types
}

#[cfg(test)]
mod tests;
