//! How an answer's value can begin, by the schema that it must satisfy.

use serde_json::Value;

use super::Fault;

/// How many schemas are looked at: references may go in circles.
const MAX_LOOKS: usize = 256;

/// What the root of an answer can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Begins {
    /// An object.
    Object,
    /// An array.
    Array,
    /// Any value, so that words before it could not be told from it.
    Anything,
}

impl Begins {
    /// What a schema surely demands of the root.
    pub(crate) fn of(schema: &Value) -> Self {
        let mut looks = MAX_LOOKS;
        demanded(schema, schema, &mut looks).unwrap_or(Self::Anything)
    }

    /// Whether words before the value can be told from it.
    pub(super) fn may_follow_prose(self) -> bool {
        self != Self::Anything
    }

    /// Whether the value can begin with this byte.
    pub(super) fn wants(self, byte: u8) -> bool {
        match self {
            Self::Object => byte == b'{',
            Self::Array => byte == b'[',
            Self::Anything => {
                matches!(
                    byte,
                    b'{' | b'[' | b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n'
                )
            }
        }
    }

    /// That an answer ended before any value.
    pub(super) fn missing(self) -> Fault {
        let kind = match self {
            Self::Object => "object",
            Self::Array => "array",
            Self::Anything => "value",
        };
        Fault::new(format!("the answer holds no JSON {kind}"))
    }
}

fn demanded(schema: &Value, root: &Value, looks: &mut usize) -> Option<Begins> {
    *looks = looks.checked_sub(1)?;
    let schema = schema.as_object()?;
    if let Some(reference) = schema.get("$ref") {
        // Older drafts ignore what stands beside a reference, so it is not counted on.
        let pointer = reference.as_str()?.strip_prefix('#')?;
        return demanded(root.pointer(pointer)?, root, looks);
    }
    if let Some(kind) = schema.get("type") {
        return match kind.as_array().map(Vec::as_slice) {
            Some([kind]) => of_type(kind),
            Some(_) => None,
            None => of_type(kind),
        };
    }
    if let Some(value) = schema.get("const") {
        return of_value(value);
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return agreed(values, of_value);
    }
    if let Some(parts) = schema.get("allOf").and_then(Value::as_array)
        && let Some(begins) = parts.iter().find_map(|part| demanded(part, root, looks))
    {
        return Some(begins);
    }
    let choices = schema.get("anyOf").or_else(|| schema.get("oneOf"))?;
    agreed(choices.as_array()?, |choice| demanded(choice, root, looks))
}

fn of_type(name: &Value) -> Option<Begins> {
    match name.as_str()? {
        "object" => Some(Begins::Object),
        "array" => Some(Begins::Array),
        _ => None,
    }
}

fn of_value(value: &Value) -> Option<Begins> {
    match value {
        Value::Object(_) => Some(Begins::Object),
        Value::Array(_) => Some(Begins::Array),
        _ => None,
    }
}

/// What all of them demand alike.
fn agreed(values: &[Value], mut of: impl FnMut(&Value) -> Option<Begins>) -> Option<Begins> {
    let (first, others) = values.split_first()?;
    let begins = of(first)?;
    others
        .iter()
        .all(|value| of(value) == Some(begins))
        .then_some(begins)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_schema_that_surely_demands_a_container_says_so() {
        let schemas = [
            (json!({"type": "object"}), Begins::Object),
            (json!({"type": ["array"]}), Begins::Array),
            (
                json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"type": "object"}}}),
                Begins::Object,
            ),
            (json!({"allOf": [{}, {"type": "array"}]}), Begins::Array),
            (
                json!({"anyOf": [{"type": "object"}, {"const": {}}]}),
                Begins::Object,
            ),
            (json!({"enum": [[], [1]]}), Begins::Array),
        ];

        for (schema, begins) in schemas {
            assert_eq!(Begins::of(&schema), begins, "{schema}");
        }
    }

    #[test]
    fn any_doubt_means_anything() {
        let schemas = [
            json!(true),
            json!({}),
            json!({"properties": {"a": {}}}),
            json!({"type": ["object", "null"]}),
            json!({"anyOf": [{"type": "object"}, {"type": "array"}]}),
            json!({"$ref": "#"}),
            json!({"allOf": [{"$ref": "#"}, {"$ref": "#"}]}),
            json!({"$ref": "https://example.com/a", "type": "object"}),
            json!({"$ref": "#/missing"}),
        ];

        for schema in schemas {
            assert_eq!(Begins::of(&schema), Begins::Anything, "{schema}");
        }
    }
}
