//! From an answer's elements to the value that they stand for.
//!
//! What a schema leaves open is read as it stands: elements as an object, `item` elements as an array, anything else
//! as a string. What fits no reading is a fault, never a guess.

mod bounds;
mod conditions;
mod list;
mod listed;
mod members;
mod rank;

use std::{collections::HashMap, rc::Rc};

use domain::Json;
use serde_json::{Number, Value};

use super::{
    ITEM,
    pattern::Pattern,
    shape::{Book, Kind, Shape},
    source::{self, Source},
    tags::{Element, Inside, Tags, cut},
};

/// The deepest nesting of a value (`interface.md` 1.9).
const MAX_DEPTH: usize = 128;
/// Steps for each byte of an answer, and for any answer: enough for every union to be tried, too few to stall.
const WORK_PER_BYTE: u64 = 64;
const WORK: u64 = 1_000_000;

/// Reads an answer by a schema, and says whether layout was taken off a text.
pub(super) fn value(answer: &str, schema: &Value) -> Result<(Json, bool), String> {
    let tags = Tags::read(answer)?;
    let root = tags.root()?;
    let mut reader = Reader {
        tags: &tags,
        book: Book::new(schema),
        out: String::new(),
        path: Vec::new(),
        patterns: HashMap::new(),
        is_stripped: false,
        doubts: 0,
        work_left: WORK + WORK_PER_BYTE * answer.len() as u64,
    };
    let value = reader.whole(root, schema)?;
    // A word in prose may be marked up; only what holds elements is beyond that doubt.
    if !value.text().starts_with(['{', '[']) && tags.is_amid_text(root) {
        return Err("the answer's only element stands amid text".to_owned());
    }
    Ok((value, reader.is_stripped))
}

struct Reader<'t, 's> {
    tags: &'t Tags<'t>,
    book: Book<'s>,
    /// The value so far, as JSON.
    out: String,
    path: Vec<String>,
    /// The patterns that were met, as far as they can be decided.
    patterns: HashMap<&'s str, Option<Rc<Pattern>>>,
    /// Whether layout was taken off a text.
    is_stripped: bool,
    /// How many readings were put off because of a pattern that cannot be decided.
    doubts: usize,
    work_left: u64,
}

enum Fault {
    /// This reading does not do; another may.
    Misfit(String),
    /// There is no time for more readings.
    TooMuch,
}

/// What holds a reading back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rigour {
    /// It is the only one: the validator will say what is wrong with the value.
    Lenient,
    /// There are others, so it must fit as far as can be told.
    Strict,
    /// There are others, and what cannot be told does not fit.
    Sure,
}

impl<'t, 's> Reader<'t, 's> {
    fn whole(&mut self, root: Element, schema: &'s Value) -> Result<Json, String> {
        match self.read(&Source::Element(root), &[schema], Rigour::Lenient) {
            Ok(()) => Json::parse(&self.out).map_err(|invalid| {
                format!("the answer stands for no JSON value: {}", invalid.message)
            }),
            Err(Fault::Misfit(fault)) => Err(fault),
            Err(Fault::TooMuch) => Err("the answer can be read in too many ways".to_owned()),
        }
    }

    /// Reads a value that all of the schemas hold for.
    fn read(
        &mut self,
        source: &Source<'t>,
        schemas: &[&'s Value],
        rigour: Rigour,
    ) -> Result<(), Fault> {
        let shapes = self.book.shapes(schemas);
        self.read_one_of(source, &shapes, rigour)
    }

    /// Reads a value that has one of the shapes, the likeliest first.
    fn read_one_of(
        &mut self,
        source: &Source<'t>,
        shapes: &[Shape<'s>],
        rigour: Rigour,
    ) -> Result<(), Fault> {
        if let [shape] = shapes {
            return self.read_as(source, shape, rigour);
        }
        let ranked = self.ranked(source, shapes)?;
        if let [shape] = ranked[..] {
            return self.read_as(source, shape, rigour);
        }
        let (written, depth, is_stripped) = (self.out.len(), self.path.len(), self.is_stripped);
        for pass in [Rigour::Sure, Rigour::Strict] {
            let doubts = self.doubts;
            for shape in &ranked {
                match self.read_as(source, shape, pass) {
                    Err(Fault::Misfit(_)) => {
                        self.out.truncate(written);
                        self.path.truncate(depth);
                        self.is_stripped = is_stripped;
                    }
                    done => return done,
                }
            }
            if rigour == Rigour::Sure || self.doubts == doubts {
                break;
            }
        }
        Err(self.misfit("fits none of the forms that it may have"))
    }

    fn read_as(
        &mut self,
        source: &Source<'t>,
        shape: &Shape<'s>,
        rigour: Rigour,
    ) -> Result<(), Fault> {
        self.spend(1 + shape.views.len())?;
        if self.path.len() > MAX_DEPTH {
            return Err(Fault::Misfit(format!(
                "the answer is nested deeper than {MAX_DEPTH} levels"
            )));
        }
        if let Some(listed) = self.listed(source, shape)? {
            self.out.push_str(&listed.json);
            self.is_stripped |= listed.is_stripped;
            return Ok(());
        }
        if rigour != Rigour::Lenient && shape.values().is_some() {
            return Err(self.misfit("is none of the values that it may be"));
        }
        match shape.kind {
            Kind::Members => self.members(source, shape, rigour),
            Kind::List => self.list(source, shape, rigour),
            Kind::Any => self.any(source, shape, rigour),
            kind => self.scalar(source, shape, kind, rigour),
        }
    }

    fn scalar(
        &mut self,
        source: &Source<'t>,
        shape: &Shape<'s>,
        kind: Kind,
        rigour: Rigour,
    ) -> Result<(), Fault> {
        self.spend(source.len(self.tags))?;
        let Some(said) = source.said(self.tags) else {
            return Err(self.misfit("stands there more than once"));
        };
        let trimmed = said.text().trim();
        let (json, misfit) = match kind {
            Kind::Null => {
                let is_null = trimmed == "null" || source.is_void(self.tags);
                (is_null.then(|| "null".to_owned()), "is to be empty")
            }
            Kind::Boolean => {
                let boolean = source::boolean(trimmed);
                (
                    boolean.map(|boolean| boolean.to_string()),
                    "is to be `true` or `false`",
                )
            }
            Kind::Integer | Kind::Number => {
                let fits = |number: &Number| {
                    rigour == Rigour::Lenient
                        || (bounds::fits_number(shape, number)
                            && (kind == Kind::Number || source::is_whole(number)))
                };
                let number = source::number(trimmed).filter(fits);
                (number.map(|_| trimmed.to_owned()), "is to be a number")
            }
            _ => {
                self.check_text(shape, said.text(), rigour)?;
                self.is_stripped |= said.is_laid_out();
                (Some(quoted(said.text())), "")
            }
        };
        let json = json.ok_or_else(|| self.misfit(misfit))?;
        self.out.push_str(&json);
        Ok(())
    }

    fn any(&mut self, source: &Source<'t>, shape: &Shape<'s>, rigour: Rigour) -> Result<(), Fault> {
        let element = match source {
            Source::Repeated(_) => return self.list(source, shape, rigour),
            Source::Attribute(_) => return self.scalar(source, shape, Kind::Text, rigour),
            Source::Element(element) => *element,
        };
        match self.inside(element) {
            Ok(inside) if !inside.elements.is_empty() && !inside.has_text => {
                if inside.elements.iter().all(|element| self.is_item(*element)) {
                    self.list(source, shape, rigour)
                } else {
                    self.members(source, shape, rigour)
                }
            }
            Err(Fault::TooMuch) => Err(Fault::TooMuch),
            _ => self.scalar(source, shape, Kind::Text, rigour),
        }
    }

    fn is_item(&self, element: Element) -> bool {
        self.tags.name(element).eq_ignore_ascii_case(ITEM)
    }

    fn inside(&mut self, element: Element) -> Result<Inside, Fault> {
        let inside = self.tags.inside(element).map_err(Fault::Misfit)?;
        self.spend(1 + inside.elements.len() + inside.bytes)?;
        Ok(inside)
    }

    fn spend(&mut self, work: usize) -> Result<(), Fault> {
        self.work_left = self
            .work_left
            .checked_sub(work as u64)
            .ok_or(Fault::TooMuch)?;
        Ok(())
    }

    /// That the value at this place does not fit, the place as the end of a JSON Pointer.
    fn misfit(&self, how: &str) -> Fault {
        const SHOWN: usize = 8;
        if self.path.is_empty() {
            return Fault::Misfit(format!("the answer's outermost element {how}"));
        }
        let hidden = self.path.len().saturating_sub(SHOWN);
        let shown: Vec<&str> = self.path[hidden..].iter().map(|step| cut(step)).collect();
        let dots = if hidden > 0 { "…" } else { "" };
        Fault::Misfit(format!("{dots}/{} {how}", shown.join("/")))
    }
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}
