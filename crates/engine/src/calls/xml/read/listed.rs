//! Values that the schema lists: what an element says is one of them or not.

use serde_json::{Map, Value};

use crate::calls::xml::{
    shape::Shape,
    source::{self, Source},
    tags::Element,
};

use super::{Fault, Reader};

/// A listed value that stands in the answer.
pub(super) struct Listed {
    pub(super) json: String,
    /// Whether it is the text's only without the white space around it.
    pub(super) is_stripped: bool,
}

impl Listed {
    const fn exact(json: String) -> Self {
        Self {
            json,
            is_stripped: false,
        }
    }
}

impl<'t, 's> Reader<'t, 's> {
    /// The JSON of the listed value that the source says.
    pub(super) fn listed(
        &mut self,
        source: &Source<'t>,
        shape: &Shape<'s>,
    ) -> Result<Option<Listed>, Fault> {
        let Some(values) = shape.values() else {
            return Ok(None);
        };
        self.spend(values.len() + source.len(self.tags))?;
        let is_void = source.is_void(self.tags);
        let Some(said) = source.said(self.tags) else {
            return Ok(None);
        };
        if is_void && values.iter().any(|value| value.is_null()) {
            return Ok(Some(Listed::exact("null".to_owned())));
        }
        for (way, text) in said.ways().into_iter().enumerate() {
            for value in &values {
                if source::says(text, is_void, value) {
                    let is_number = value.is_number();
                    return Ok(Some(Listed {
                        json: if is_number {
                            text.to_owned()
                        } else {
                            value.to_string()
                        },
                        is_stripped: way > 0 && value.is_string(),
                    }));
                }
            }
        }
        for value in values {
            if let (Source::Element(element), true) =
                (source, value.is_array() || value.is_object())
                && self.holds(*element, value)?
            {
                return Ok(Some(Listed::exact(value.to_string())));
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
            return Ok(source.said(self.tags).is_some_and(|said| {
                let mut ways = said.ways().into_iter();
                ways.any(|text| source::says(text, is_void, value))
            }));
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
