//! Schemas that hold for some values only: under `if`, `then` and `else`, and where a certain member is there.

use std::collections::HashSet;

use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::shape::{Book, Shape};

/// So many conditional schemas are looked at in one place.
pub(super) const MAX_CONDITIONAL: usize = 1000;

/// A schema that holds under a condition.
#[derive(Clone, Copy)]
pub(super) struct Conditional<'s> {
    pub(super) schema: &'s Value,
    pub(super) when: When<'s>,
}

/// When a conditional schema holds.
#[derive(Clone, Copy)]
pub(super) enum When<'s> {
    /// It is itself what is asked.
    Asked,
    /// If this one holds.
    Holds(&'s Value),
    /// If this one does not.
    Fails(&'s Value),
    /// If there is a member of this name.
    Has(&'s str),
}

impl<'s> Shape<'s> {
    /// Lets another shape's schemas hold as well.
    pub(super) fn add(&mut self, other: &Self) {
        for view in &other.views {
            if !self.views.iter().any(|known| std::ptr::eq(*known, *view)) {
                self.views.push(view);
            }
        }
    }

    /// The schemas that hold under conditions, in the schema's order.
    pub(super) fn conditionals(&self) -> Vec<Conditional<'s>> {
        let mut found = Vec::new();
        for view in &self.views {
            if let Some(asked) = view.get("if") {
                let branches = [
                    (view.get("then"), When::Holds(asked)),
                    (view.get("else"), When::Fails(asked)),
                    (Some(asked), When::Asked),
                ];
                found.extend(branches.into_iter().filter_map(|(schema, when)| {
                    schema.map(|schema| Conditional { schema, when })
                }));
            }
            let by_member = ["dependentSchemas", "dependencies"]
                .into_iter()
                .filter_map(|word| view.get(word).and_then(Value::as_object))
                .flat_map(Map::iter)
                .filter(|(_, schema)| schema.is_object());
            found.extend(by_member.map(|(name, schema)| Conditional {
                schema,
                when: When::Has(name),
            }));
        }
        found
    }
}

impl<'s> Book<'s> {
    /// The members that are declared under conditions only, with the schemas that they may have.
    pub(super) fn conditional_members(
        &mut self,
        shape: &Shape<'s>,
    ) -> IndexMap<&'s str, Vec<&'s Value>> {
        let mut members: IndexMap<&'s str, Vec<&'s Value>> = IndexMap::new();
        let mut rest = shape.conditionals();
        let mut seen = HashSet::new();
        let mut at = 0;
        while at < rest.len().min(MAX_CONDITIONAL) {
            let Conditional { schema, when } = rest[at];
            at += 1;
            if !seen.insert(std::ptr::from_ref(schema).addr()) {
                continue;
            }
            for form in self.shapes(&[schema]).iter() {
                for name in form.properties() {
                    if !shape.property(name).is_empty() {
                        continue;
                    }
                    let known = members.entry(name).or_default();
                    // What is asked is what a member might be, not what it is to be.
                    let asks = matches!(when, When::Asked) && !known.is_empty();
                    for schema in form.property(name) {
                        let is_known = known.contains(&schema);
                        if !asks && !is_known {
                            known.push(schema);
                        }
                    }
                }
                rest.extend(form.conditionals());
            }
        }
        members
    }
}
