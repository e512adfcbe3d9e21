//! Made-up objects.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::{MAX_ITEMS, Maker, Place};
use crate::offline::schema;

impl Maker<'_> {
    /// An object with the members that the schema names; with those that it requires alone, if that is all there is.
    pub(super) fn object(&self, members: &Map<String, Value>, place: Place<'_>) -> Option<Value> {
        let bound = |keyword: &str| {
            let bound = members.get(keyword).and_then(Value::as_u64);
            bound.map(|bound| usize::try_from(bound).unwrap_or(usize::MAX))
        };
        let properties = members.get("properties").and_then(Value::as_object);
        let required = required(members);
        let is_required: HashSet<&str> = required.iter().copied().collect();
        let listed = properties
            .into_iter()
            .flat_map(Map::keys)
            .map(String::as_str);
        let others = required.into_iter();
        let others = others.filter(|name| properties.is_none_or(|all| !all.contains_key(*name)));
        let most = bound("maxProperties").unwrap_or(usize::MAX);
        let mut room = most.saturating_sub(is_required.len());
        let mut object = Map::new();
        for name in listed.chain(others) {
            let is_required = is_required.contains(name);
            let is_left_out = !is_required && (self.is_lean || room == 0);
            if is_left_out || object.contains_key(name) {
                continue;
            }
            match self.member(members, name, place) {
                Some(value) => {
                    object.insert(name.to_owned(), value);
                    room = room.saturating_sub(usize::from(!is_required));
                }
                None if is_required => return None,
                None => {}
            }
        }
        let least = bound("minProperties").unwrap_or(0).min(MAX_ITEMS);
        self.fill(members, &mut object, least, place)?;
        Some(Value::Object(object))
    }

    /// Adds members that the schema does not name, until there are enough.
    fn fill(
        &self,
        members: &Map<String, Value>,
        object: &mut Map<String, Value>,
        least: usize,
        place: Place<'_>,
    ) -> Option<()> {
        let patterns = members.get("patternProperties").and_then(Value::as_object);
        let pattern = patterns.and_then(|patterns| patterns.keys().next());
        let names = members.get("propertyNames").cloned();
        let names = names.or_else(|| pattern.map(|pattern| json!({ "pattern": pattern })));
        let names = schema::merged(
            &json!({ "type": "string" }),
            &names.unwrap_or(Value::Bool(true)),
        );
        let mut variant = 0;
        while object.len() < least && variant < 4 * least {
            let place_of_name = Place {
                name: "member",
                drawn: None,
                variant,
                ..place
            };
            variant += 1;
            let Some(Value::String(name)) = self.make(&names, place_of_name) else {
                continue;
            };
            if !object.contains_key(&name) {
                let value = self.member(members, &name, place)?;
                object.insert(name, value);
            }
        }
        Some(())
    }

    fn member(&self, members: &Map<String, Value>, name: &str, place: Place<'_>) -> Option<Value> {
        let beside = place.drawn.and_then(|drawn| drawn.get(name));
        let place = Place {
            name,
            drawn: beside.or_else(|| self.input.get(name)),
            depth: place.depth + 1,
            ..place
        };
        match self.document.member_schemas(members, name).as_slice() {
            [] => self.make(&Value::Bool(true), place),
            [one] => self.make(one, place),
            several => {
                let whole = json!({ "allOf": several });
                self.document.spend_on(&whole)?;
                self.make(&whole, place)
            }
        }
    }
}

/// The names that must be there, those that others bring along included.
fn required(members: &Map<String, Value>) -> Vec<&str> {
    let properties = members.get("properties").and_then(Value::as_object);
    let dependent = members.get("dependentRequired").and_then(Value::as_object);
    let mut required = names(members.get("required"));
    for (name, needed) in dependent.into_iter().flatten() {
        let is_made = properties.is_some_and(|all| all.contains_key(name));
        if is_made || required.contains(&name.as_str()) {
            required.extend(names(Some(needed)));
        }
    }
    required
}

fn names(list: Option<&Value>) -> Vec<&str> {
    let list = list.and_then(Value::as_array).into_iter().flatten();
    list.filter_map(Value::as_str).collect()
}
