//! Shapes: the readings that a schema allows, with references and unions taken apart.

use std::{collections::HashMap, rc::Rc};

use serde_json::{Map, Value};

use super::reference::anchors;
use crate::schema::decoded;

/// A schema may spread out into so many shapes; more are not looked at.
const MAX_SHAPES: usize = 1000;
/// So many schemas may hold in one place.
const MAX_VIEWS: usize = 256;

/// One reading: schemas that hold together, of which none is a union any more.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Shape<'s> {
    pub(super) views: Vec<&'s Map<String, Value>>,
    pub(super) kind: Kind,
}

/// What a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The schema does not say.
    Any,
    Null,
    Boolean,
    Integer,
    Number,
    Text,
    List,
    Members,
}

/// A schema as a whole, and the shapes that were found in it.
pub(super) struct Book<'s> {
    root: &'s Value,
    anchors: HashMap<&'s str, &'s Value>,
    known: HashMap<Vec<usize>, Rc<[Shape<'s>]>>,
}

/// What is still to be looked at in one place.
#[derive(Clone, Default)]
struct Place<'s> {
    views: Vec<&'s Map<String, Value>>,
    schemas: Vec<&'s Value>,
    unions: Vec<&'s Vec<Value>>,
}

impl<'s> Book<'s> {
    pub(super) fn new(root: &'s Value) -> Self {
        Self {
            root,
            anchors: anchors(root),
            known: HashMap::new(),
        }
    }

    /// The readings of a value that all of these schemas hold for, in their order; at least one.
    pub(super) fn shapes(&mut self, schemas: &[&'s Value]) -> Rc<[Shape<'s>]> {
        // Invariant: the schema outlives the book, so an address means one node.
        let key: Vec<usize> = schemas
            .iter()
            .map(|schema| std::ptr::from_ref(*schema).addr())
            .collect();
        if let Some(shapes) = self.known.get(&key) {
            return Rc::clone(shapes);
        }
        let mut shapes = Vec::new();
        let place = Place {
            schemas: schemas.iter().rev().copied().collect(),
            ..Place::default()
        };
        self.spread(place, &mut shapes);
        let shapes: Rc<[Shape<'s>]> = shapes.into();
        self.known.insert(key, Rc::clone(&shapes));
        shapes
    }

    fn spread(&self, mut place: Place<'s>, shapes: &mut Vec<Shape<'s>>) {
        while let Some(schema) = place.schemas.pop() {
            let Some(view) = schema.as_object() else {
                continue;
            };
            let is_known = place.views.iter().any(|known| std::ptr::eq(*known, view));
            if is_known || place.views.len() == MAX_VIEWS {
                continue;
            }
            place.views.push(view);
            for word in ["$ref", "$dynamicRef"] {
                let target = view.get(word).and_then(Value::as_str);
                place
                    .schemas
                    .extend(target.and_then(|target| self.target(target)));
            }
            let all = view.get("allOf").and_then(Value::as_array);
            place.schemas.extend(all.into_iter().flatten().rev());
            for word in ["anyOf", "oneOf"] {
                place
                    .unions
                    .extend(view.get(word).and_then(Value::as_array));
            }
        }
        if let Some(union) = place.unions.pop() {
            // A branch ends in one shape at least, so this bounds the branches as well.
            for branch in union {
                if shapes.len() >= MAX_SHAPES {
                    return;
                }
                let mut place = place.clone();
                place.schemas.push(branch);
                self.spread(place, shapes);
            }
            return;
        }
        let of_kind = |kind| Shape {
            views: place.views.clone(),
            kind,
        };
        shapes.extend(kinds(&place.views).into_iter().map(of_kind));
    }

    fn target(&self, reference: &str) -> Option<&'s Value> {
        let fragment = decoded(reference.strip_prefix('#')?)?;
        if fragment.is_empty() || fragment.starts_with('/') {
            self.root.pointer(&fragment)
        } else {
            self.anchors.get(fragment.as_str()).copied()
        }
    }
}

impl<'s> Shape<'s> {
    /// The reading of what no schema speaks of.
    pub(super) fn free() -> Self {
        Self {
            views: Vec::new(),
            kind: Kind::Any,
        }
    }

    /// What the schemas say under a word.
    pub(super) fn word(&self, word: &str) -> impl Iterator<Item = &'s Value> {
        self.views.iter().filter_map(move |view| view.get(word))
    }

    /// The values that are allowed, if they are listed.
    pub(super) fn values(&self) -> Option<Vec<&'s Value>> {
        let lists = self.word("enum").filter_map(Value::as_array);
        let listed = lists.map(|list| list.iter().collect());
        self.word("const")
            .map(|value| vec![value])
            .chain(listed)
            .min_by_key(Vec::len)
    }

    /// The schemas of a member by its name; none if it is not declared.
    pub(super) fn property(&self, name: &str) -> Vec<&'s Value> {
        let properties = self.word("properties").filter_map(Value::as_object);
        properties
            .filter_map(|properties| properties.get(name))
            .collect()
    }

    /// The names of the declared members.
    pub(super) fn properties(&self) -> impl Iterator<Item = &'s str> {
        let properties = self.word("properties").filter_map(Value::as_object);
        properties.flat_map(|properties| properties.keys().map(String::as_str))
    }

    /// The names of the members that must be there.
    pub(super) fn required(&self) -> impl Iterator<Item = &'s str> {
        let lists = self.word("required").filter_map(Value::as_array);
        lists.flatten().filter_map(Value::as_str)
    }

    /// The schemas of members by the pattern that their names fit.
    pub(super) fn patterns(&self) -> impl Iterator<Item = (&'s str, &'s Value)> {
        let patterns = self.word("patternProperties").filter_map(Value::as_object);
        patterns.flat_map(|patterns| {
            patterns
                .iter()
                .map(|(name, schema)| (name.as_str(), schema))
        })
    }

    /// The schemas of members that nothing else speaks of.
    pub(super) fn rest(&self) -> Vec<&'s Value> {
        let rest = ["additionalProperties", "unevaluatedProperties"]
            .into_iter()
            .flat_map(|word| self.word(word));
        rest.filter(|schema| schema.is_object()).collect()
    }

    /// Whether no member but the declared ones may be there.
    pub(super) fn is_closed(&self) -> bool {
        let mut rest = ["additionalProperties", "unevaluatedProperties"]
            .into_iter()
            .flat_map(|word| self.word(word));
        rest.any(|rest| *rest == Value::Bool(false))
            && self.word("patternProperties").next().is_none()
    }

    /// How many entries have a schema of their own.
    pub(super) fn tuple(&self) -> usize {
        let lists = self.word("prefixItems").chain(self.word("items"));
        lists
            .filter_map(Value::as_array)
            .map(Vec::len)
            .max()
            .unwrap_or(0)
    }

    /// The schemas of an entry by its place.
    pub(super) fn entry(&self, index: usize) -> Vec<&'s Value> {
        let entry = |view: &&'s Map<String, Value>| {
            let items = view.get("items");
            let list = view.get("prefixItems").or(items).and_then(Value::as_array);
            let single = items.filter(|items| !items.is_array());
            let rest = single.or_else(|| view.get("additionalItems"));
            match list {
                Some(list) => list.get(index).or(rest),
                None => rest,
            }
        };
        self.views.iter().filter_map(entry).collect()
    }
}

/// The kinds that a value can be of, in the order of the first schema that names them.
fn kinds(views: &[&Map<String, Value>]) -> Vec<Kind> {
    let mut kinds: Option<Vec<Kind>> = None;
    for types in views.iter().filter_map(|view| view.get("type")) {
        let named: Vec<Kind> = match types {
            Value::Array(types) => types
                .iter()
                .filter_map(Value::as_str)
                .filter_map(kind)
                .collect(),
            types => types.as_str().and_then(kind).into_iter().collect(),
        };
        kinds = Some(match kinds {
            None => named,
            Some(kinds) => kinds
                .into_iter()
                .filter_map(|kind| both(kind, &named))
                .collect(),
        });
    }
    match kinds {
        Some(kinds) if !kinds.is_empty() => kinds,
        _ => vec![implied(views)],
    }
}

fn kind(name: &str) -> Option<Kind> {
    Some(match name {
        "null" => Kind::Null,
        "boolean" => Kind::Boolean,
        "integer" => Kind::Integer,
        "number" => Kind::Number,
        "string" => Kind::Text,
        "array" => Kind::List,
        "object" => Kind::Members,
        _ => return None,
    })
}

fn both(kind: Kind, others: &[Kind]) -> Option<Kind> {
    match kind {
        Kind::Number if !others.contains(&Kind::Number) => {
            others.contains(&Kind::Integer).then_some(Kind::Integer)
        }
        Kind::Integer if others.contains(&Kind::Number) => Some(kind),
        kind => others.contains(&kind).then_some(kind),
    }
}

/// The kind that a schema without types speaks of.
fn implied(views: &[&Map<String, Value>]) -> Kind {
    let speaks_of = |words: &[&str]| {
        let mut views = views.iter();
        views.any(|view| words.iter().any(|word| view.contains_key(*word)))
    };
    let of_members = [
        "properties",
        "patternProperties",
        "additionalProperties",
        "required",
        "dependentSchemas",
    ];
    let of_entries = [
        "items",
        "prefixItems",
        "contains",
        "minItems",
        "maxItems",
        "uniqueItems",
    ];
    if speaks_of(&["enum", "const"]) {
        Kind::Any
    } else if speaks_of(&of_members) {
        Kind::Members
    } else if speaks_of(&of_entries) {
        Kind::List
    } else {
        Kind::Any
    }
}
