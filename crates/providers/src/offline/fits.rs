//! Whether a value satisfies a schema: enough of a check to choose between values that were made up.
//!
//! The engine has the real one. What this one does not know it lets pass; `format` and `unevaluated…` are such.

use std::{
    cell::{Cell, RefCell},
    cmp::Ordering,
    collections::HashMap,
};

use regex::{Regex, RegexBuilder};
use serde_json::{Map, Number, Value};

use super::schema;

/// How deep a check goes into a schema, references included.
const MAX_DEPTH: u32 = 160;
const MAX_PATTERN_BYTES: usize = 1 << 20;
/// What it costs to compile a pattern.
const PATTERN_STEPS: usize = 100;
/// Longer arrays are not compared item by item.
const MAX_UNIQUE_ITEMS: usize = 2_000;

/// The document that schemas are part of, and how much work may still be spent on it.
pub(super) struct Document<'a> {
    pub(super) root: &'a Value,
    steps_left: Cell<usize>,
    depth: Cell<u32>,
    patterns: RefCell<HashMap<String, Option<Regex>>>,
}

impl<'a> Document<'a> {
    pub(super) fn new(root: &'a Value, steps: usize) -> Self {
        Self {
            root,
            steps_left: Cell::new(steps),
            depth: Cell::new(0),
            patterns: RefCell::default(),
        }
    }

    /// Takes as many steps; `None` if there are not as many left.
    pub(super) fn spend(&self, steps: usize) -> Option<()> {
        let left = self.steps_left.get().checked_sub(steps);
        self.steps_left.set(left.unwrap_or(0));
        left.map(|_| ())
    }

    /// Takes a step for every part of a value that is copied.
    pub(super) fn spend_on(&self, value: &Value) -> Option<()> {
        match value {
            Value::String(text) => self.spend(1 + text.len() / 64),
            Value::Array(items) => {
                self.spend(1)?;
                items.iter().try_for_each(|item| self.spend_on(item))
            }
            Value::Object(members) => {
                self.spend(1)?;
                members
                    .values()
                    .try_for_each(|member| self.spend_on(member))
            }
            _ => self.spend(1),
        }
    }

    /// Whether the pattern is found in the text; not, if the pattern is none.
    pub(super) fn is_match(&self, pattern: &str, text: &str) -> bool {
        let mut patterns = self.patterns.borrow_mut();
        let compiled = patterns.entry(pattern.to_owned()).or_insert_with(|| {
            self.spend(PATTERN_STEPS)?;
            let mut builder = RegexBuilder::new(pattern);
            builder.size_limit(MAX_PATTERN_BYTES).build().ok()
        });
        compiled.as_ref().is_some_and(|regex| regex.is_match(text))
    }

    /// Whether the value satisfies the schema. Without steps left, or at the end of a circle, nothing does.
    pub(super) fn fits(&self, schema: &Value, value: &Value) -> bool {
        let depth = self.depth.get();
        if depth == MAX_DEPTH || self.spend(1).is_none() {
            return false;
        }
        self.depth.set(depth + 1);
        let fits = self.all_fit(schema, value);
        self.depth.set(depth);
        fits
    }

    fn all_fit(&self, schema: &Value, value: &Value) -> bool {
        let members = match schema {
            Value::Bool(all) => return *all,
            Value::Object(members) => members,
            _ => return true,
        };
        let schemas = |keyword: &str| members.get(keyword).and_then(Value::as_array);
        let fits = |schema: &Value| self.fits(schema, value);
        let of = |keyword: &str| members.get(keyword);
        let reference = of("$ref").and_then(Value::as_str);
        let referred = reference.map(|reference| schema::resolve(self.root, reference));
        referred.is_none_or(|schema| schema.is_some_and(fits))
            && of("type").is_none_or(|given| is_of_type(given, value))
            && of("const").is_none_or(|given| same(given, value))
            && schemas("enum").is_none_or(|given| {
                let is_affordable = self.spend(given.len()).is_some();
                is_affordable && given.iter().any(|given| same(given, value))
            })
            && schemas("allOf").is_none_or(|all| all.iter().all(fits))
            && schemas("anyOf").is_none_or(|any| any.iter().any(fits))
            && schemas("oneOf").is_none_or(|one| one.iter().filter(|one| fits(one)).count() == 1)
            && of("not").is_none_or(|not| !fits(not))
            && of("if").is_none_or(|condition| {
                let branch = if fits(condition) { "then" } else { "else" };
                of(branch).is_none_or(fits)
            })
            && match value {
                Value::Number(number) => number_fits(members, number),
                Value::String(text) => self.string_fits(members, text),
                Value::Array(items) => self.array_fits(members, items),
                Value::Object(value) => self.object_fits(members, value),
                Value::Null | Value::Bool(_) => true,
            }
    }

    fn string_fits(&self, schema: &Map<String, Value>, text: &str) -> bool {
        let pattern = schema.get("pattern").and_then(Value::as_str);
        is_counted(schema, "minLength", "maxLength", text.chars().count())
            && pattern.is_none_or(|pattern| self.is_match(pattern, text))
    }

    fn array_fits(&self, schema: &Map<String, Value>, items: &[Value]) -> bool {
        let prefix = schema.get("prefixItems").and_then(Value::as_array);
        let prefix = prefix.map_or(&[][..], Vec::as_slice);
        let rest = items.get(prefix.len()..).unwrap_or_default();
        let is_unique = || {
            let mut pairs = items.iter().enumerate();
            items.len() <= MAX_UNIQUE_ITEMS
                && self.spend(items.len()).is_some()
                && pairs.all(|(at, item)| !items[..at].iter().any(|other| same(item, other)))
        };
        let contains = schema.get("contains").is_none_or(|contained| {
            let found = items
                .iter()
                .filter(|item| self.fits(contained, item))
                .count();
            let least = schema.contains_key("minContains") || found > 0;
            least && is_counted(schema, "minContains", "maxContains", found)
        });
        is_counted(schema, "minItems", "maxItems", items.len())
            && contains
            && (schema.get("uniqueItems") != Some(&Value::Bool(true)) || is_unique())
            && prefix
                .iter()
                .zip(items)
                .all(|(schema, item)| self.fits(schema, item))
            && schema
                .get("items")
                .is_none_or(|schema| rest.iter().all(|item| self.fits(schema, item)))
    }

    fn object_fits(&self, schema: &Map<String, Value>, value: &Map<String, Value>) -> bool {
        let part = |keyword: &str| schema.get(keyword).and_then(Value::as_object);
        let has_all = |names: &Value| {
            let mut names = names
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(Value::as_str);
            names.all(|name| value.contains_key(name))
        };
        let dependent =
            |(name, names): (&String, &Value)| !value.contains_key(name) || has_all(names);
        is_counted(schema, "minProperties", "maxProperties", value.len())
            && schema.get("required").is_none_or(has_all)
            && part("dependentRequired").is_none_or(|names| names.iter().all(dependent))
            && part("dependentSchemas").is_none_or(|schemas| {
                let whole = Value::Object(value.clone());
                let mut present = schemas.iter().filter(|(name, _)| value.contains_key(*name));
                present.all(|(_, schema)| self.fits(schema, &whole))
            })
            && value.iter().all(|(name, value)| {
                let schemas = self.member_schemas(schema, name);
                schemas.iter().all(|schema| self.fits(schema, value))
                    && schema
                        .get("propertyNames")
                        .is_none_or(|names| self.fits(names, &Value::String(name.clone())))
            })
    }

    /// The schemas that hold for the member of that name.
    pub(super) fn member_schemas<'s>(
        &self,
        schema: &'s Map<String, Value>,
        name: &str,
    ) -> Vec<&'s Value> {
        let part = |keyword: &str| schema.get(keyword).and_then(Value::as_object);
        let named = part("properties").and_then(|properties| properties.get(name));
        let patterns = part("patternProperties").into_iter().flatten();
        let matching = patterns.filter(|(pattern, _)| self.is_match(pattern, name));
        let mut schemas: Vec<&Value> = matching.map(|(_, schema)| schema).collect();
        schemas.extend(named);
        if schemas.is_empty() {
            schemas.extend(schema.get("additionalProperties"));
        }
        schemas
    }
}

fn is_counted(schema: &Map<String, Value>, least: &str, most: &str, count: usize) -> bool {
    let bound = |keyword: &str| schema.get(keyword).and_then(Value::as_f64);
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
    let count = count as f64;
    bound(least).is_none_or(|least| count >= least) && bound(most).is_none_or(|most| count <= most)
}

fn is_of_type(given: &Value, value: &Value) -> bool {
    schema::types(given).into_iter().any(|name| match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        _ => false,
    })
}

fn number_fits(schema: &Map<String, Value>, number: &Number) -> bool {
    let is = |keyword: &str, right: fn(Ordering) -> bool| match schema.get(keyword) {
        Some(Value::Number(bound)) => right(compared(number, bound)),
        _ => true,
    };
    is("minimum", Ordering::is_ge)
        && is("maximum", Ordering::is_le)
        && is("exclusiveMinimum", Ordering::is_gt)
        && is("exclusiveMaximum", Ordering::is_lt)
        && match schema.get("multipleOf") {
            Some(Value::Number(factor)) => is_multiple(number, factor),
            _ => true,
        }
}

fn is_multiple(number: &Number, factor: &Number) -> bool {
    if let (Some(number), Some(factor)) = (number.as_i128(), factor.as_i128()) {
        return factor != 0 && number % factor == 0;
    }
    let quotient = number.as_f64().unwrap_or(f64::NAN) / factor.as_f64().unwrap_or(f64::NAN);
    (quotient - quotient.round()).abs() <= 1e-9 * quotient.abs().max(1.0)
}

/// Compares whole numbers as such, others as floats.
fn compared(first: &Number, second: &Number) -> Ordering {
    if let (Some(first), Some(second)) = (first.as_i128(), second.as_i128()) {
        return first.cmp(&second);
    }
    let float = |number: &Number| number.as_f64().unwrap_or(f64::NAN);
    float(first).total_cmp(&float(second))
}

/// Whether two values are equal by JSON Schema's rules: `1` is `1.0`, and the order of members is nothing.
pub(super) fn same(first: &Value, second: &Value) -> bool {
    match (first, second) {
        (Value::Number(first), Value::Number(second)) => compared(first, second).is_eq(),
        (Value::Array(first), Value::Array(second)) => {
            first.len() == second.len()
                && first
                    .iter()
                    .zip(second)
                    .all(|(first, second)| same(first, second))
        }
        (Value::Object(first), Value::Object(second)) => {
            let in_second = |(name, value): (&String, &Value)| {
                second.get(name).is_some_and(|other| same(value, other))
            };
            first.len() == second.len() && first.iter().all(in_second)
        }
        _ => first == second,
    }
}
