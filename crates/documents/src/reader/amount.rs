//! How much a page draws, counted before it is drawn.
//!
//! A form is drawn as often as it is named, and may name others: a few kilobytes draw billions of letters. Each form is
//! looked into once, however often it is drawn.

use std::collections::HashMap;

use hayro_syntax::{
    content::UntypedIter,
    object::{Dict, Name, Object, ObjectIdentifier, Stream},
    page::{Page, Resources},
};

/// A page of dense print takes some ten thousand, a map some hundred thousand, the largest drawings a few million.
const MAX_WEIGHT: u64 = 10_000_000;

/// What a text, an image or a form takes against a line, in time.
const HEAVY: u64 = 10;

/// The parser follows forms within forms this deep.
const MAX_DEPTH: usize = 50;

/// Whether a page draws more than any page has.
pub(super) fn is_too_much(page: &Page<'_>) -> bool {
    let Some(content) = page.page_stream() else {
        return false;
    };
    let mut count = Count::default();
    count.of(content, page.resources(), 0) > MAX_WEIGHT
}

/// What was counted so far.
#[derive(Default)]
struct Count {
    /// What each form draws; nothing as yet, while it is looked into: what draws itself is drawn `MAX_DEPTH` deep at most.
    forms: HashMap<ObjectIdentifier, u64>,
}

impl Count {
    fn of(&mut self, content: &[u8], resources: &Resources<'_>, depth: usize) -> u64 {
        let mut weight = 0u64;
        let mut instructions = UntypedIter::new(content);
        while let Some(instruction) = instructions.next() {
            let more = match &**instruction.operator {
                b"Tj" | b"TJ" | b"'" | b"\"" | b"EI" => HEAVY,
                b"Do" => {
                    let name = match instruction.operands().last() {
                        Some(Object::Name(name)) => Some(name),
                        _ => None,
                    };
                    let drawn = name.map(|name| self.of_form(name, resources, depth + 1));
                    drawn.unwrap_or(0).saturating_add(HEAVY)
                }
                _ => 1,
            };
            weight = weight.saturating_add(more);
            if weight > MAX_WEIGHT {
                break;
            }
        }
        weight
    }

    fn of_form(&mut self, name: &Name<'_>, outer: &Resources<'_>, depth: usize) -> u64 {
        let Some(form) = outer.get_x_object(name) else {
            return 0;
        };
        self.weigh(&form, outer, depth)
    }

    fn weigh(&mut self, form: &Stream<'_>, outer: &Resources<'_>, depth: usize) -> u64 {
        let is_form = form
            .dict()
            .get::<Name<'_>>(b"Subtype".as_slice())
            .is_some_and(|kind| &*kind == b"Form");
        if !is_form || depth > MAX_DEPTH {
            return 0;
        }
        if let Some(&known) = self.forms.get(&form.obj_id()) {
            return known;
        }
        // A form that leads back into itself grows by each level it is drawn at: nothing that is meant to be read does.
        self.forms.insert(form.obj_id(), MAX_WEIGHT);
        let Ok(content) = form.decoded() else {
            return 0;
        };
        let own = form.dict().get::<Dict<'_>>(b"Resources".as_slice());
        let own = own.map(Resources::new);
        let weight = self.of(&content, own.as_ref().unwrap_or(outer), depth);
        self.forms.insert(form.obj_id(), weight);
        weight
    }
}
