//! Which of an object's conditional schemas hold, as far as its elements tell.

use std::collections::HashSet;

use indexmap::IndexMap;
use serde_json::Value;

use crate::calls::xml::{
    conditional::{Conditional, MAX_CONDITIONAL, When},
    shape::Shape,
    source::Source,
};

use super::{Fault, Reader};

type Members<'t> = IndexMap<String, Source<'t>>;

impl<'t, 's> Reader<'t, 's> {
    /// The shape with all conditional schemas that are known to hold, and those that may hold.
    pub(super) fn settled(
        &mut self,
        shape: &Shape<'s>,
        members: &Members<'t>,
    ) -> Result<(Shape<'s>, Vec<Shape<'s>>), Fault> {
        let mut settled = shape.clone();
        let mut possible = Vec::new();
        let marked = |is_sure: bool| move |conditional: Conditional<'s>| (conditional, is_sure);
        let mut rest: Vec<_> = shape.conditionals().into_iter().map(marked(true)).collect();
        let mut seen = HashSet::new();
        let mut at = 0;
        while at < rest.len().min(MAX_CONDITIONAL) {
            let (Conditional { schema, when }, is_sure) = rest[at];
            at += 1;
            self.spend(1)?;
            let holds = match when {
                When::Asked => None,
                When::Holds(asked) => self.holds_for(asked, members)?,
                When::Fails(asked) => self.holds_for(asked, members)?.map(|holds| !holds),
                When::Has(name) => Some(members.contains_key(name)),
            };
            if holds == Some(false) {
                continue;
            }
            let forms = self.book.shapes(&[schema]);
            self.spend(1 + forms.len())?;
            let is_sure = is_sure && holds == Some(true) && forms.len() == 1;
            if !seen.insert((std::ptr::from_ref(schema).addr(), is_sure)) {
                continue;
            }
            for form in forms.iter() {
                rest.extend(form.conditionals().into_iter().map(marked(is_sure)));
                if is_sure {
                    settled.add(form);
                } else {
                    possible.push(form.clone());
                }
            }
        }
        Ok((settled, possible))
    }

    /// Whether a schema holds for an object, if it asks for nothing but members and listed values.
    fn holds_for(
        &mut self,
        asked: &'s Value,
        members: &Members<'t>,
    ) -> Result<Option<bool>, Fault> {
        let Some(words) = asked.as_object() else {
            return Ok(asked.as_bool());
        };
        let mut is_clear = words.iter().all(|(word, said)| match word.as_str() {
            "properties" | "required" | "title" | "description" => true,
            "type" => said == "object",
            _ => false,
        });
        let required = words.get("required").and_then(Value::as_array);
        let mut names = required.into_iter().flatten().filter_map(Value::as_str);
        if names.any(|name| !members.contains_key(name)) {
            return Ok(Some(false));
        }
        let properties = words.get("properties").and_then(Value::as_object);
        for (name, schema) in properties.into_iter().flatten() {
            let Some(source) = members.get(name) else {
                continue;
            };
            let is_listed = schema.as_object().is_some_and(|words| {
                let mut words = words.keys();
                words.all(|word| ["const", "enum", "type"].contains(&word.as_str()))
            });
            let forms = self.book.shapes(&[schema]);
            match &forms[..] {
                [form] if is_listed && form.values().is_some() => {
                    if self.listed(source, form)?.is_none() {
                        return Ok(Some(false));
                    }
                }
                _ => is_clear = false,
            }
        }
        Ok(is_clear.then_some(true))
    }
}
