//! Arrays: `item` elements, others of one name, or elements named like the array.

use crate::calls::xml::{
    shape::{Kind, Shape},
    source::Source,
    tags::Element,
};

use super::{Fault, Reader, Rigour, bounds};

impl<'t, 's> Reader<'t, 's> {
    pub(super) fn list(
        &mut self,
        source: &Source<'t>,
        shape: &Shape<'s>,
        rigour: Rigour,
    ) -> Result<(), Fault> {
        let entries = match source {
            Source::Element(element) => self.entries(*element, shape)?,
            Source::Repeated(elements) => {
                self.check_entries(elements, shape)?;
                elements.clone()
            }
            Source::Attribute(_) => return Err(self.misfit("is to hold `item` elements")),
        };
        if rigour != Rigour::Lenient && !bounds::fits_count(shape, entries.len()) {
            return Err(self.misfit("holds too few entries, or too many"));
        }
        self.out.push('[');
        for (index, entry) in entries.into_iter().enumerate() {
            if index > 0 {
                self.out.push(',');
            }
            self.path.push(index.to_string());
            self.read(&Source::Element(entry), &shape.entry(index), rigour)?;
            self.path.pop();
        }
        self.out.push(']');
        Ok(())
    }

    /// The entries in an array's element: its `item` elements, or others that are all of one name.
    fn entries(&mut self, element: Element, shape: &Shape<'s>) -> Result<Vec<Element>, Fault> {
        let inside = self.inside(element)?;
        let Some(first) = inside.elements.first() else {
            if inside.has_text {
                return Err(self.misfit("is to hold `item` elements"));
            }
            return Ok(Vec::new());
        };
        let name = self.tags.name(*first);
        let mut elements = inside.elements.iter();
        let are_alike = elements.all(|element| self.tags.name(*element).eq_ignore_ascii_case(name));
        // An element named like a member of the entries may be that member, with its `item` forgotten.
        let is_item = self.is_item(*first)
            || self
                .book
                .shapes(&shape.entry(0))
                .iter()
                .all(|shape| shape.property(name).is_empty());
        if are_alike && is_item {
            Ok(inside.elements)
        } else {
            Err(self.misfit("is to hold `item` elements"))
        }
    }

    /// That elements named like the array are its entries, not several arrays.
    fn check_entries(&mut self, elements: &[Element], shape: &Shape<'s>) -> Result<(), Fault> {
        let shapes = self.book.shapes(&shape.entry(0));
        if shapes
            .iter()
            .any(|shape| matches!(shape.kind, Kind::List | Kind::Any))
        {
            return Ok(());
        }
        for element in elements {
            let inside = self.inside(*element);
            if inside
                .is_ok_and(|inside| inside.elements.iter().any(|element| self.is_item(*element)))
            {
                return Err(self.misfit("stands there more than once"));
            }
        }
        Ok(())
    }
}
