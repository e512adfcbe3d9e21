//! Objects: an element for each member, or an attribute.

use indexmap::IndexMap;

use crate::calls::xml::{MEMBER, scan, shape::Shape, source::Source, tags::Element};

use super::{Fault, Reader, Rigour, quoted};

impl<'t, 's> Reader<'t, 's> {
    pub(super) fn members(
        &mut self,
        source: &Source<'t>,
        shape: &Shape<'s>,
        rigour: Rigour,
    ) -> Result<(), Fault> {
        let members = self.grouped(source, shape)?;
        if rigour == Rigour::Strict {
            let has_all = shape.required().all(|name| members.contains_key(name));
            let is_open = !shape.is_closed();
            if !has_all || !(is_open || members.keys().all(|name| !shape.property(name).is_empty()))
            {
                return Err(self.misfit("lacks an element, or has one too many"));
            }
        }
        self.out.push('{');
        for (index, (name, source)) in members.into_iter().enumerate() {
            if index > 0 {
                self.out.push(',');
            }
            self.out.push_str(&quoted(&name));
            self.out.push(':');
            let declared = shape.property(&name);
            self.path.push(name);
            if declared.is_empty() {
                self.undeclared(&source, shape, rigour)?;
            } else {
                self.read(&source, &declared, rigour)?;
            }
            self.path.pop();
        }
        self.out.push('}');
        Ok(())
    }

    /// A member that is not declared. Which pattern its name fits is for the validator: all are tried.
    fn undeclared(
        &mut self,
        source: &Source<'t>,
        shape: &Shape<'s>,
        rigour: Rigour,
    ) -> Result<(), Fault> {
        let (patterns, rest) = shape.undeclared();
        if patterns.is_empty() {
            return self.read(source, &rest, rigour);
        }
        let mut shapes = Vec::new();
        for pattern in patterns {
            shapes.extend_from_slice(&self.book.shapes(&[pattern]));
        }
        shapes.extend_from_slice(&self.book.shapes(&rest));
        shapes.push(Shape::free());
        self.read_one_of(source, &shapes, rigour)
    }

    /// The members of an object by name, in order; last the declared ones that are attributes instead.
    fn grouped(
        &mut self,
        source: &Source<'t>,
        shape: &Shape<'s>,
    ) -> Result<IndexMap<String, Source<'t>>, Fault> {
        let Source::Element(object) = source else {
            return Err(self.misfit("is to be one element that holds others"));
        };
        let inside = self.inside(*object)?;
        if inside.elements.is_empty() && inside.has_text {
            return Err(self.misfit("is to hold elements, not text"));
        }
        let mut groups: IndexMap<String, Vec<Element>> = IndexMap::new();
        for mut element in inside.elements {
            let name;
            (name, element.is_named) = self.key(element, shape)?;
            groups.entry(name).or_default().push(element);
        }
        let mut members: IndexMap<String, Source<'t>> = groups
            .into_iter()
            .map(|(name, elements)| match elements[..] {
                [element] => (name, Source::Element(element)),
                _ => (name, Source::Repeated(elements)),
            })
            .collect();
        for (name, value) in self.tags.attributes(*object) {
            let is_its_name = object.is_named && name == "name";
            if !is_its_name && !shape.property(name).is_empty() {
                let attribute = Source::Attribute(value);
                members.entry(name.to_owned()).or_insert(attribute);
            }
        }
        Ok(members)
    }

    /// The name of the member that an element stands for, and whether it is written as an attribute.
    pub(super) fn key(
        &mut self,
        element: Element,
        shape: &Shape<'_>,
    ) -> Result<(String, bool), Fault> {
        let name = self.tags.name(element);
        if name == MEMBER {
            let mut attributes = self.tags.attributes(element).into_iter();
            let mut written = String::new();
            let named = attributes.rfind(|(attribute, _)| *attribute == "name");
            if let Some((_, value)) = named {
                scan::resolve(value, &mut written);
                // A declared member of this very name may have an attribute of its own.
                if shape.property(MEMBER).is_empty() || !shape.property(&written).is_empty() {
                    return Ok((written, true));
                }
            }
        }
        if shape.property(name).is_empty() {
            self.spend(shape.properties().count())?;
            let mut alike = shape
                .properties()
                .filter(|known| known.eq_ignore_ascii_case(name));
            if let (Some(known), None) = (alike.next(), alike.next()) {
                return Ok((known.to_owned(), false));
            }
        }
        Ok((name.to_owned(), false))
    }
}
