//! Values that the schema lists: what an element says is one of them or not.

use serde_json::{Map, Value};

use crate::calls::xml::{
    shape::Shape,
    source::{self, Source},
    tags::Element,
};

use super::{Fault, Reader};

impl<'t, 's> Reader<'t, 's> {
    /// The JSON of the listed value that the source says.
    pub(super) fn listed(
        &mut self,
        source: &Source<'t>,
        shape: &Shape<'s>,
    ) -> Result<Option<String>, Fault> {
        let Some(values) = shape.values() else {
            return Ok(None);
        };
        self.spend(values.len() + source.len(self.tags))?;
        let is_void = source.is_void(self.tags);
        let Some(text) = source.text(self.tags) else {
            return Ok(None);
        };
        for value in values {
            if source::says(&text, is_void, value) {
                let is_number = value.is_number();
                return Ok(Some(if is_number {
                    text.trim().to_owned()
                } else {
                    value.to_string()
                }));
            }
            if let (Source::Element(element), true) =
                (source, value.is_array() || value.is_object())
                && self.holds(*element, value)?
            {
                return Ok(Some(value.to_string()));
            }
        }
        Ok(None)
    }

    /// Whether an element stands for exactly this value.
    fn holds(&mut self, element: Element, value: &Value) -> Result<bool, Fault> {
        let source = Source::Element(element);
        self.spend(1 + source.len(self.tags))?;
        let (Value::Array(_) | Value::Object(_)) = value else {
            let is_void = source.is_void(self.tags);
            let text = source.text(self.tags).unwrap_or_default();
            return Ok(source::says(&text, is_void, value));
        };
        let Ok(inside) = self.tags.inside(element) else {
            return Ok(false);
        };
        let length = match value {
            Value::Array(entries) => entries.len(),
            value => value.as_object().map_or(0, Map::len),
        };
        if inside.elements.len() != length || (length == 0 && inside.has_text) {
            return Ok(false);
        }
        for (at, element) in inside.elements.into_iter().enumerate() {
            let part = match value {
                Value::Array(entries) => entries.get(at).filter(|_| self.is_item(element)),
                value => value.get(self.key(element, &Shape::free())?.0),
            };
            let Some(part) = part else {
                return Ok(false);
            };
            if !self.holds(element, part)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
