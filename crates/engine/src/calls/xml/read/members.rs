//! Objects: an element for each member, or an attribute.

use indexmap::IndexMap;

use crate::calls::xml::{
    MEMBER, scan,
    shape::{Kind, Shape},
    source::Source,
    tags::Element,
};

use super::{Fault, Reader, Rigour, quoted};

impl<'t, 's> Reader<'t, 's> {
    pub(super) fn members(
        &mut self,
        source: &Source<'t>,
        shape: &Shape<'s>,
        rigour: Rigour,
    ) -> Result<(), Fault> {
        let members = self.grouped(source, shape)?;
        let (shape, possible) = &self.settled(shape, &members)?;
        let may_be = |name: &String| {
            !shape.property(name).is_empty()
                || possible.iter().any(|may| !may.property(name).is_empty())
        };
        if rigour != Rigour::Lenient {
            let has_all = shape.required().all(|name| members.contains_key(name));
            let has_more = shape.is_closed() && !members.keys().all(may_be);
            if !has_all || has_more {
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
            self.path.push(name.clone());
            self.member(&name, &source, (shape, possible), rigour)?;
            self.path.pop();
        }
        self.out.push('}');
        Ok(())
    }

    /// A member: by its declaration and the patterns that its name fits; else by what may be declared under
    /// conditions; else by patterns that cannot be decided; else by what is said of all others.
    fn member(
        &mut self,
        name: &str,
        source: &Source<'t>,
        (shape, possible): (&Shape<'s>, &[Shape<'s>]),
        rigour: Rigour,
    ) -> Result<(), Fault> {
        let mut schemas = shape.property(name);
        let mut open = Vec::new();
        for (pattern, schema) in shape.patterns() {
            match self.matches(pattern, name)? {
                Some(true) => schemas.push(schema),
                Some(false) => {}
                None => open.push(schema),
            }
        }
        if !schemas.is_empty() {
            return self.read(source, &schemas, rigour);
        }
        let conditional = possible.iter().flat_map(|may| may.property(name));
        open.extend(conditional);
        let rest = shape.rest();
        if open.is_empty() {
            return self.read(source, &rest, rigour);
        }
        let mut shapes = Vec::new();
        for schema in open {
            shapes.extend_from_slice(&self.book.shapes(&[schema]));
        }
        shapes.extend_from_slice(&self.book.shapes(&rest));
        shapes.push(Shape::free());
        // Nearly all can be read as a string, so that says the least.
        shapes.sort_by_key(|shape| match shape.kind {
            Kind::Text => 1,
            Kind::Any if shape.values().is_none() => 2,
            _ => 0,
        });
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
