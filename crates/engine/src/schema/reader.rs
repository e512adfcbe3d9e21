//! Reads the places of a schema out of its document.
//!
//! By keyword, not by looks: what stands in `const`, `enum`, `examples` or `default` is data, whatever its members are
//! called, until a reference points at it. The words of all drafts are read at once, which sees at least as much as
//! the validator does.

use std::collections::{HashMap, VecDeque};

use domain::Invalid;
use jsonschema::Draft;
use serde_json::{Map, Value};

use super::{
    pattern,
    places::{Children, Id, Link, Place, Places, not_taken, too_long},
    words::{decoded, faults, list, map, price, text},
};

const MAX_PLACES: usize = 10_000;
const MAX_CHOICES: usize = 1_000;
const MAX_REFERENCES: usize = 1_000;
const MAX_PATTERNS: usize = 200;
/// What a pattern and all patterns together may have when their repetitions are written out.
const MAX_STATES: u64 = 5_000;
const MAX_STATES_IN_ALL: u64 = 50_000;
const MAX_PATTERN_BYTES: usize = 2 * 1024;

/// Reads a document.
///
/// # Errors
/// `too_long` beyond a limit, `json_schema` for a reference to anything but a place inside, or for a word that would
/// change what references mean.
pub(super) fn read(root: &Value, draft: Draft) -> Result<Places, Invalid> {
    let mut reader = Reader::new(root, draft);
    reader.place(root)?;
    loop {
        if let Some((id, schema)) = reader.unread.pop_front() {
            reader.read(id, schema)?;
        } else if let Some((from, target)) = reader.references.pop_front() {
            let target = reader.resolve(target)?;
            let to = reader.place(target)?;
            reader.places.all[from].links.push((Link::Reference, to));
        } else {
            return Ok(reader.places);
        }
    }
}

struct Reader<'a> {
    root: &'a Value,
    draft: Draft,
    places: Places,
    /// By address: the document is borrowed and stays where it is.
    ids: HashMap<usize, Id>,
    names: HashMap<&'a str, usize>,
    anchors: HashMap<&'a str, &'a Value>,
    unread: VecDeque<(Id, &'a Value)>,
    references: VecDeque<(Id, &'a str)>,
    reference_count: usize,
}

impl<'a> Reader<'a> {
    fn new(root: &'a Value, draft: Draft) -> Self {
        Self {
            root,
            draft,
            places: Places {
                all: Vec::new(),
                patterns: 0,
                states: 0,
                longest_pattern: 0,
                compares_items: false,
                has_alternatives: false,
            },
            ids: HashMap::new(),
            names: HashMap::new(),
            anchors: HashMap::new(),
            unread: VecDeque::new(),
            references: VecDeque::new(),
            reference_count: 0,
        }
    }

    /// The number of the place where `schema` stands, a new one if it was not known as a place yet.
    fn place(&mut self, schema: &'a Value) -> Result<Id, Invalid> {
        let id = self.places.all.len();
        let known = *self
            .ids
            .entry(std::ptr::from_ref(schema).addr())
            .or_insert(id);
        if known < id {
            return Ok(known);
        }
        if id == MAX_PLACES {
            return Err(too_long("a schema has at most 10,000 subschemas"));
        }
        self.places.all.push(Place::default());
        self.unread.push_back((id, schema));
        Ok(id)
    }

    fn read(&mut self, id: Id, schema: &'a Value) -> Result<(), Invalid> {
        let Value::Object(words) = schema else {
            self.places.all[id].price = 1;
            self.places.all[id].faults = 1;
            return Ok(());
        };
        self.check_identity(id, schema, words)?;
        self.check_limits(words)?;
        let links = self.links(words)?;
        let members = self.members(words)?;
        let items = self.items(words)?;
        let names = words
            .get("propertyNames")
            .map(|names| self.place(names))
            .transpose()?;
        self.definitions(words)?;
        self.note_references(id, words)?;
        self.places.compares_items |= words.get("uniqueItems") == Some(&Value::Bool(true));
        self.places.has_alternatives |= words.contains_key("anyOf") || words.contains_key("oneOf");
        // Up to draft 7 a reference hides what stands beside it.
        let is_hidden = matches!(self.draft, Draft::Draft4 | Draft::Draft6 | Draft::Draft7)
            && words.get("$ref").is_some_and(Value::is_string);
        self.places.all[id] = if is_hidden {
            Place {
                price: 1,
                ..Place::default()
            }
        } else {
            Place {
                links,
                members,
                items,
                names,
                price: price(words),
                faults: faults(words),
            }
        };
        Ok(())
    }

    /// Takes note of anchors and refuses what would make the references in a subschema start elsewhere.
    fn check_identity(
        &mut self,
        id: Id,
        schema: &'a Value,
        words: &'a Map<String, Value>,
    ) -> Result<(), Invalid> {
        if id > 0 && self.draft.detect(schema) != self.draft {
            return Err(not_taken(
                "`$schema` in a subschema must be that of the whole schema; leave it out",
            ));
        }
        let word = self.draft.id_keyword();
        let mut anchors = vec![text(words, "$anchor"), text(words, "$dynamicAnchor")];
        match text(words, word) {
            Some(name) if self.names_an_anchor(name) => anchors.push(name.get(1..)),
            Some(_) if id > 0 => return Err(rebased(word)),
            _ => {}
        }
        for anchor in anchors.into_iter().flatten() {
            let first = *self.anchors.entry(anchor).or_insert(schema);
            if !std::ptr::eq(first, schema) {
                let fault = format!("the anchor `{}` stands at two places", cut(anchor));
                return Err(not_taken(fault));
            }
        }
        Ok(())
    }

    /// Whether an identity is only a name for the place, as up to draft 7.
    fn names_an_anchor(&self, name: &str) -> bool {
        matches!(self.draft, Draft::Draft4 | Draft::Draft6 | Draft::Draft7)
            && name.len() > 1
            && name.starts_with('#')
    }

    fn check_limits(&mut self, words: &'a Map<String, Value>) -> Result<(), Invalid> {
        if list(words, "enum").len() > MAX_CHOICES {
            return Err(too_long("an `enum` in a schema has at most 1,000 values"));
        }
        let pattern = text(words, "pattern").into_iter();
        let keys = map(words, "patternProperties").map(|(pattern, _)| pattern);
        for pattern in pattern.chain(keys) {
            self.places.patterns += 1;
            if pattern.len() > MAX_PATTERN_BYTES {
                return Err(too_long("a pattern in a schema has at most 2 KiB"));
            }
            let states = pattern::states(pattern);
            self.places.states += states;
            self.places.longest_pattern = self.places.longest_pattern.max(states);
        }
        if self.places.longest_pattern > MAX_STATES || self.places.states > MAX_STATES_IN_ALL {
            return Err(too_long(
                "a pattern in a schema has repetitions that make it too large; say how long a text may be with \
                 `maxLength` instead",
            ));
        }
        if self.places.patterns > MAX_PATTERNS {
            return Err(too_long("a schema has at most 200 patterns"));
        }
        Ok(())
    }

    fn links(&mut self, words: &'a Map<String, Value>) -> Result<Vec<(Link, Id)>, Invalid> {
        let mut links = Vec::new();
        for word in ["allOf", "anyOf", "oneOf"] {
            for schema in list(words, word) {
                links.push((Link::Branch, self.place(schema)?));
            }
        }
        let single = [
            ("if", Link::Branch),
            ("then", Link::Reference),
            ("else", Link::Reference),
            ("not", Link::Negation),
        ];
        for (word, link) in single {
            if let Some(schema) = words.get(word) {
                links.push((link, self.place(schema)?));
            }
        }
        for word in ["dependentSchemas", "dependencies"] {
            // A list under `dependencies` holds names.
            for (_, schema) in map(words, word).filter(|(_, schema)| !schema.is_array()) {
                links.push((Link::Reference, self.place(schema)?));
            }
        }
        Ok(links)
    }

    fn members(&mut self, words: &'a Map<String, Value>) -> Result<Children, Invalid> {
        let mut members = Children::default();
        for (name, schema) in map(words, "properties") {
            let next = self.names.len();
            let name = *self.names.entry(name).or_insert(next);
            members.exact.push((name, self.place(schema)?));
        }
        for (_, schema) in map(words, "patternProperties") {
            members.each.push(self.place(schema)?);
        }
        members.rest = self.schema_at(words, "additionalProperties")?;
        members.unevaluated = self.schema_at(words, "unevaluatedProperties")?;
        Ok(members)
    }

    fn items(&mut self, words: &'a Map<String, Value>) -> Result<Children, Invalid> {
        let mut items = Children::default();
        for word in ["prefixItems", "items"] {
            for (index, schema) in list(words, word).iter().enumerate() {
                items.exact.push((index, self.place(schema)?));
            }
        }
        let additional = self.schema_at(words, "additionalItems")?;
        items.rest = match words.get("items") {
            None | Some(Value::Array(_)) => additional,
            Some(schema) => Some(self.place(schema)?),
        };
        items.each.extend(self.schema_at(words, "contains")?);
        items.unevaluated = self.schema_at(words, "unevaluatedItems")?;
        Ok(items)
    }

    fn schema_at(
        &mut self,
        words: &'a Map<String, Value>,
        word: &str,
    ) -> Result<Option<Id>, Invalid> {
        words.get(word).map(|schema| self.place(schema)).transpose()
    }

    /// Reads what checks nothing where it stands.
    fn definitions(&mut self, words: &'a Map<String, Value>) -> Result<(), Invalid> {
        for word in ["$defs", "definitions"] {
            for (_, schema) in map(words, word) {
                self.place(schema)?;
            }
        }
        self.schema_at(words, "contentSchema").map(drop)
    }

    fn note_references(&mut self, id: Id, words: &'a Map<String, Value>) -> Result<(), Invalid> {
        for word in ["$ref", "$dynamicRef", "$recursiveRef"] {
            let Some(target) = text(words, word) else {
                continue;
            };
            if !target.starts_with('#') || (word == "$recursiveRef" && target != "#") {
                let fault = format!(
                    "`{word}` must point into the schema itself, as in `#/$defs/name`, not to `{}`",
                    cut(target)
                );
                return Err(not_taken(fault));
            }
            self.reference_count += 1;
            if self.reference_count > MAX_REFERENCES {
                return Err(too_long("a schema has at most 1,000 references"));
            }
            self.references.push_back((id, target));
        }
        Ok(())
    }

    fn resolve(&self, target: &'a str) -> Result<&'a Value, Invalid> {
        let nowhere = || not_taken(format!("`$ref` points at nothing: `{}`", cut(target)));
        let fragment = decoded(&target[1..]).ok_or_else(nowhere)?;
        if fragment.is_empty() {
            return Ok(self.root);
        }
        let Some(pointer) = fragment.strip_prefix('/') else {
            return self.anchors.get(&*fragment).copied().ok_or_else(nowhere);
        };
        let mut place = self.root;
        for step in pointer.split('/') {
            place = match place {
                Value::Object(members) => members.get(&step.replace("~1", "/").replace("~0", "~")),
                Value::Array(items) => step.parse().ok().and_then(|index: usize| items.get(index)),
                _ => None,
            }
            .ok_or_else(nowhere)?;
            let word = self.draft.id_keyword();
            let identity = place.as_object().and_then(|words| text(words, word));
            if identity.is_some_and(|name| !self.names_an_anchor(name)) {
                return Err(rebased(word));
            }
        }
        Ok(place)
    }
}

/// As much of a schema's own text as a refusal repeats.
fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(100)]
}

fn rebased(word: &str) -> Invalid {
    not_taken(format!(
        "`{word}` in a subschema changes what references mean; leave it out and use `#/$defs/name`"
    ))
}
