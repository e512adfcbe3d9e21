//! Made-up arrays.

use serde_json::{Map, Value};

use super::{MAX_ITEMS, Maker, Place};
use crate::offline::{fits::same, schema};

impl Maker<'_> {
    /// An array with one item, or as many as the input has or the schema wants.
    pub(super) fn array(&self, members: &Map<String, Value>, place: Place<'_>) -> Option<Value> {
        let bound = |keyword: &str| {
            let bound = members.get(keyword).and_then(Value::as_u64);
            bound.map(|bound| usize::try_from(bound).unwrap_or(usize::MAX))
        };
        let prefix = members.get("prefixItems").and_then(Value::as_array);
        let prefix = prefix.map_or(&[][..], Vec::as_slice);
        let anything = Value::Bool(true);
        let rest = members.get("items").unwrap_or(&anything);
        let contained = members
            .get("contains")
            .map(|contained| schema::merged(rest, contained));
        let contained_least = bound("minContains").unwrap_or(1);
        let least = bound("minItems").unwrap_or(0);
        let most = bound("maxItems").unwrap_or(usize::MAX);
        let drawn = place
            .drawn
            .and_then(Value::as_array)
            .map_or(&[][..], Vec::as_slice);
        let usual = if self.is_lean { 0 } else { drawn.len().max(1) };
        let with_contained = if contained.is_some() {
            contained_least
        } else {
            0
        };
        let wanted = least
            .max(usual.min(MAX_ITEMS))
            .max(prefix.len().saturating_add(with_contained))
            .min(most);
        if least > MAX_ITEMS {
            return None;
        }
        let is_unique = members.get("uniqueItems") == Some(&Value::Bool(true));
        let mut items: Vec<Value> = Vec::new();
        while items.len() < wanted {
            let at = items.len();
            let after_prefix = at.checked_sub(prefix.len());
            let schema = match (prefix.get(at), &contained) {
                (Some(schema), _) => schema,
                (None, Some(contained)) if after_prefix < Some(contained_least) => contained,
                (None, _) => rest,
            };
            let place = Place {
                drawn: drawn.get(at),
                depth: place.depth + 1,
                ..place
            };
            match self.item(schema, place, is_unique, &items) {
                Some(item) => items.push(item),
                None if at >= least => break,
                None => return None,
            }
        }
        Some(Value::Array(items))
    }

    /// An item; one that is not among `others`, if it must be unique.
    fn item(
        &self,
        schema: &Value,
        place: Place<'_>,
        is_unique: bool,
        others: &[Value],
    ) -> Option<Value> {
        let tries = if is_unique { 2 * others.len() + 4 } else { 1 };
        let variants = place.variant..place.variant + tries;
        let items = variants.filter_map(|variant| self.make(schema, Place { variant, ..place }));
        let mut new =
            items.filter(|item| !is_unique || !others.iter().any(|other| same(item, other)));
        new.next()
    }
}
