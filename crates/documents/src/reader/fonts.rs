//! Whether the fonts of a page are in the file.

use std::collections::HashSet;

use hayro_syntax::{
    content::UntypedIter,
    object::{Array, Dict, MaybeRef, Name, Object},
    page::Page,
};

/// Whether a page's text is set in a font that is named and not there: the file is cut off or broken. What is shown of such a
/// text is set in whatever font came before, and says something else.
pub(super) fn is_lost(page: &Page<'_>) -> bool {
    let fonts = &page.resources().fonts;
    let mut names: Vec<Name<'_>> = fonts.keys().collect();
    names.retain(|name| is_font_lost(page, fonts, name));
    if names.is_empty() {
        return false;
    }
    let used = used(page);
    names.iter().any(|name| used.contains(&name.to_vec()))
}

fn is_font_lost(page: &Page<'_>, fonts: &Dict<'_>, name: &Name<'_>) -> bool {
    let font = match fonts.get_raw::<Object<'_>>(name) {
        Some(MaybeRef::Ref(id)) => match page.xref().get::<Object<'_>>(id.into()) {
            Some(font) => font,
            None => return true,
        },
        Some(MaybeRef::NotRef(font)) => font,
        None => return false,
    };
    let Object::Dict(font) = font else {
        return false;
    };
    let composite = font
        .get::<Name<'_>>(b"Subtype".as_slice())
        .is_some_and(|kind| &*kind == b"Type0");
    if !composite {
        return false;
    }
    // A composite font is nothing without its descendant, and its codes mean nothing without their map.
    let map = font.get_ref(b"ToUnicode".as_slice());
    let is_map_lost = map.is_some_and(|id| page.xref().get::<Object<'_>>(id.into()).is_none());
    let descendants = font.get::<Array<'_>>(b"DescendantFonts".as_slice());
    let is_there = descendants.is_some_and(|fonts| fonts.iter::<Dict<'_>>().next().is_some());
    is_map_lost || !is_there
}

/// The fonts that text is set in on the page itself.
fn used(page: &Page<'_>) -> HashSet<Vec<u8>> {
    let mut used = HashSet::new();
    let mut current = None;
    let mut instructions = UntypedIter::new(page.page_stream().unwrap_or_default());
    while let Some(instruction) = instructions.next() {
        match &**instruction.operator {
            b"Tf" => {
                current = match instruction.operands().next() {
                    Some(Object::Name(name)) => Some(name.to_vec()),
                    _ => None,
                };
            }
            b"Tj" | b"TJ" | b"'" | b"\"" => used.extend(current.take()),
            _ => {}
        }
    }
    used
}
