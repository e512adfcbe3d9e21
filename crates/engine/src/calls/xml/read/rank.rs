//! Which reading of a value comes first where a schema allows several.

use serde_json::Value;

use crate::calls::xml::{
    scan,
    shape::{Kind, Shape},
    source::Source,
    tags::Inside,
};

use super::{Fault, Reader};

/// How likely a reading is, the least first: its class, what its marks say, and what it has no word for.
type Rank = (Class, Marks, usize);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    /// The value is listed.
    Listed,
    /// An empty element is null where that is allowed.
    Empty,
    /// The reading suits what is there, so the schema's order decides.
    Suits,
    /// A string that holds markup, or the word `null`.
    Last,
    /// It cannot be.
    Never,
}

/// What members with a fixed value say of a reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Marks {
    For,
    Silent,
    Against,
}

/// Whether there is anything in an element without elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Empty {
    /// Text.
    No,
    /// An empty text, spelled out.
    Text,
    /// Nothing at all.
    Void,
}

impl Empty {
    fn of(inside: &str) -> Self {
        if scan::is_void(inside) {
            Self::Void
        } else if scan::is_blank(inside) {
            Self::Text
        } else {
            Self::No
        }
    }
}

impl<'t, 's> Reader<'t, 's> {
    /// The shapes that a value can have, the likeliest first.
    pub(super) fn ranked<'a>(
        &mut self,
        source: &Source<'t>,
        shapes: &'a [Shape<'s>],
    ) -> Result<Vec<&'a Shape<'s>>, Fault> {
        let inside = match source {
            Source::Element(element) => match self.inside(*element) {
                Err(Fault::TooMuch) => return Err(Fault::TooMuch),
                inside => inside.ok().filter(|inside| !inside.elements.is_empty()),
            },
            Source::Repeated(_) | Source::Attribute(_) => None,
        };
        self.spend(source.len(self.tags))?;
        let empty = match source {
            Source::Element(element) if inside.is_none() => Empty::of(self.tags.source(*element)),
            _ => Empty::No,
        };
        let mut ranked = Vec::with_capacity(shapes.len());
        for shape in shapes {
            let rank = self.rank(source, shape, inside.as_ref(), empty)?;
            if rank.0 != Class::Never {
                ranked.push((rank, shape));
            }
        }
        ranked.sort_by_key(|(rank, _)| *rank);
        Ok(ranked.into_iter().map(|(_, shape)| shape).collect())
    }

    fn rank(
        &mut self,
        source: &Source<'t>,
        shape: &Shape<'s>,
        inside: Option<&Inside>,
        empty: Empty,
    ) -> Result<Rank, Fault> {
        self.spend(1 + shape.views.len())?;
        let plain = |class| Ok((class, Marks::Silent, 0));
        if self.listed(source, shape)?.is_some() {
            return plain(Class::Listed);
        }
        if let Source::Repeated(_) = source {
            let may_be = matches!(shape.kind, Kind::List | Kind::Any);
            return plain(if may_be { Class::Suits } else { Class::Never });
        }
        if let Some(inside) = inside {
            return match shape.kind {
                Kind::Members => self.marks(inside, shape),
                Kind::List | Kind::Any => {
                    let are_items = inside.elements.iter().all(|element| self.is_item(*element));
                    let unknown = if are_items { 0 } else { inside.elements.len() };
                    Ok((Class::Suits, Marks::Silent, unknown))
                }
                Kind::Text => plain(Class::Last),
                _ => plain(Class::Never),
            };
        }
        plain(match shape.kind {
            Kind::Members if self.has_attributes(source, shape) => Class::Empty,
            Kind::Null if empty == Empty::Void => Class::Empty,
            Kind::Null => {
                self.spend(source.len(self.tags))?;
                let says_null = source
                    .said(self.tags)
                    .is_some_and(|said| said.text().trim() == "null");
                if says_null { Class::Last } else { Class::Never }
            }
            Kind::Members | Kind::List if empty == Empty::No => Class::Never,
            _ => Class::Suits,
        })
    }

    /// How well an object's elements agree with the members that a shape declares.
    fn marks(&mut self, inside: &Inside, shape: &Shape<'s>) -> Result<Rank, Fault> {
        let (mut marks, mut unknown) = (Marks::Silent, 0);
        for element in &inside.elements {
            let declared: Vec<&'s Value> = shape.property(&self.key(*element, shape)?.0);
            if declared.is_empty() {
                unknown += 1;
                continue;
            }
            let shapes = self.book.shapes(&declared);
            let is_fixed = shapes.iter().all(|shape| shape.values().is_some());
            if !is_fixed || marks == Marks::Against {
                continue;
            }
            let mut is_listed = false;
            for shape in shapes.iter() {
                is_listed |= self.listed(&Source::Element(*element), shape)?.is_some();
            }
            marks = if is_listed {
                Marks::For
            } else {
                Marks::Against
            };
        }
        Ok((Class::Suits, marks, unknown))
    }

    fn has_attributes(&self, source: &Source<'t>, shape: &Shape<'s>) -> bool {
        let Source::Element(element) = source else {
            return false;
        };
        let attributes = self.tags.attributes(*element);
        attributes
            .iter()
            .any(|(name, _)| !shape.property(name).is_empty())
    }
}
