//! Compiled JSON Schemas; a mismatch names its place.
//!
//! A schema comes from a client and is hostile until it was compiled here: nothing outside of the document is ever
//! fetched, patterns run in linear time, and size and depth are bounded (`reliability.md` 6).

use domain::{Invalid, Json};
use jsonschema::{Draft, PatternOptions, Validator, paths::LocationSegment};
use serde_json::Value;

use crate::error::{Fault, Step};

const MAX_BYTES: usize = 256 * 1024;
const MAX_DEPTH: usize = 64;
const MAX_FAULTS: usize = 20;

/// A schema, ready to check values.
#[derive(Debug)]
pub(crate) struct Schema {
    validator: Validator,
}

/// One way in which a value misses its schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mismatch {
    /// Where in the value.
    pub(crate) place: Vec<Step>,
    /// What is wrong there; the value itself is not repeated.
    pub(crate) message: String,
}

impl Schema {
    /// Compiles a schema: draft 2020-12 unless `$schema` says otherwise.
    ///
    /// # Errors
    /// `object_type` if it is no object, `too_long` beyond a limit, `json_schema` if it is no valid schema or refers
    /// to anything that it does not hold itself.
    pub(crate) fn compile(schema: &Json) -> Result<Self, Invalid> {
        if !schema.is_object() {
            return Err(Invalid::new("object_type", "a schema is an object"));
        }
        if schema.text().len() > MAX_BYTES {
            return Err(Invalid::new("too_long", "a schema has at most 256 KiB"));
        }
        let schema = schema.to_value();
        if depth(&schema) > MAX_DEPTH {
            return Err(Invalid::new(
                "too_long",
                format!("a schema nests at most {MAX_DEPTH} levels"),
            ));
        }
        refuse_remote_references(&schema)?;
        let refused = |fault: String| {
            Invalid::new("json_schema", format!("not a valid JSON Schema: {fault}"))
        };
        let draft = Draft::default().detect(&schema);
        if draft == Draft::Unknown {
            return Err(refused(
                "unknown `$schema`; leave it out for draft 2020-12".to_owned(),
            ));
        }
        jsonschema::options()
            .with_draft(draft)
            .with_pattern_options(PatternOptions::regex().size_limit(1 << 20))
            .should_validate_formats(false)
            .build(&schema)
            .map(|validator| Self { validator })
            .map_err(|error| refused(error.to_string()))
    }

    /// How a value misses the schema: nothing if it does not, at most 20 faults if it does.
    pub(crate) fn mismatches(&self, value: &Value) -> Vec<Mismatch> {
        if self.validator.is_valid(value) {
            return Vec::new();
        }
        let errors = self.validator.iter_errors(value).take(MAX_FAULTS);
        errors
            .map(|error| Mismatch {
                place: error.instance_path().iter().map(step).collect(),
                message: error.masked().to_string(),
            })
            .collect()
    }
}

impl Mismatch {
    /// The fault of a request whose member `input` misses its schema.
    pub(crate) fn into_input_fault(self) -> Fault {
        let root = ["body", "input"].map(|name| Step::Name(name.to_owned()));
        Fault {
            loc: root.into_iter().chain(self.place).collect(),
            msg: self.message,
            slug: "schema_mismatch".to_owned(),
        }
    }

    /// The mismatch in a line, the place as a JSON Pointer.
    pub(crate) fn line(&self) -> String {
        let pointer: String = self
            .place
            .iter()
            .map(|step| match step {
                Step::Name(name) => format!("/{}", name.replace('~', "~0").replace('/', "~1")),
                Step::Index(index) => format!("/{index}"),
            })
            .collect();
        let place = if pointer.is_empty() {
            "the value"
        } else {
            &pointer
        };
        format!("{place}: {}", self.message)
    }
}

fn step(segment: LocationSegment<'_>) -> Step {
    match segment {
        LocationSegment::Property(name) => Step::Name(name.into_owned()),
        LocationSegment::Index(index) => Step::Index(index),
    }
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(members) => 1 + members.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

/// The compiler has no way to fetch anything; this names the fault in words that help.
fn refuse_remote_references(schema: &Value) -> Result<(), Invalid> {
    match schema {
        Value::Array(items) => items.iter().try_for_each(refuse_remote_references),
        Value::Object(members) => members.iter().try_for_each(|(key, value)| match value {
            Value::String(target)
                if matches!(key.as_str(), "$ref" | "$dynamicRef" | "$recursiveRef")
                    && !target.starts_with('#') =>
            {
                let fault = "a reference must point into the schema itself, as in `#/$defs/name`";
                Err(Invalid::new("json_schema", fault))
            }
            value => refuse_remote_references(value),
        }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn compile(schema: &Value) -> Result<Schema, Invalid> {
        Schema::compile(&Json::from_value(schema))
    }

    #[test]
    fn a_mismatch_names_its_place_and_not_the_value() {
        let schema = json!({
            "type": "object",
            "properties": {"people": {"type": "array", "items": {"$ref": "#/$defs/person"}}},
            "$defs": {"person": {"type": "object", "properties": {"age": {"type": "integer"}}}},
        });

        let mismatches = compile(&schema)
            .unwrap()
            .mismatches(&json!({"people": [{"age": "s3cret"}]}));

        assert_eq!(mismatches.len(), 1);
        assert_eq!(
            mismatches[0].line(),
            "/people/0/age: value is not of type \"integer\""
        );
    }

    #[test]
    fn what_is_no_schema_is_refused() {
        let deep = (0..70).fold(json!({}), |inner, _| json!({"not": inner}));
        let refused = [
            json!({"type": "thing"}),
            json!({"type": 3}),
            json!({"minimum": "x"}),
            json!({"$ref": "#/$defs/nothing"}),
            json!({"properties": {"a": {"$ref": "#/$defs/nothing"}}}),
            json!({"$ref": "http://127.0.0.1:9/schema.json"}),
            json!({"$ref": "file:///etc/passwd"}),
            json!({"$ref": "other.json#/a"}),
            json!({"$schema": "http://example.com/mine"}),
            json!({"pattern": "(?=a)b"}),
            json!({"pattern": "("}),
            json!(true),
            deep,
        ];

        for schema in refused {
            assert!(compile(&schema).is_err(), "{schema}");
        }
    }

    #[test]
    fn both_drafts_and_both_words_for_definitions_are_taken() {
        let old = json!({
            "$schema": "http://json-schema.org/draft-07/schema#",
            "definitions": {"a": {"type": "integer"}}, "$ref": "#/definitions/a",
        });
        let new = json!({"definitions": {"a": {"type": "integer"}}, "$ref": "#/definitions/a"});

        for schema in [old, new] {
            assert!(compile(&schema).unwrap().mismatches(&json!(1.0)).is_empty());
            assert_eq!(compile(&schema).unwrap().mismatches(&json!(1.5)).len(), 1);
        }
    }

    #[test]
    fn formats_are_not_asserted() {
        let schema = compile(&json!({"type": "string", "format": "email"})).unwrap();

        assert!(schema.mismatches(&json!("no address")).is_empty());
    }
}
