//! From an answer's elements to the value that they stand for.
//!
//! What a schema leaves open is read as it stands: elements as an object, `item` elements as an array, anything else
//! as a string. What fits no reading is a fault, never a guess.

mod list;
mod listed;
mod members;
mod rank;

use domain::Json;
use serde_json::Value;

use super::{
    ITEM, ROOT,
    shape::{Book, Kind, Shape},
    source::{self, Source},
    tags::{Element, Inside, Tags, cut},
};

/// The deepest nesting of a value (`interface.md` 1.9).
const MAX_DEPTH: usize = 128;
/// So many elements are tried as the one around the answer.
const MAX_ROOTS: usize = 16;
/// Steps for each byte of an answer, and for any answer: enough for every union to be tried, too few to stall.
const WORK_PER_BYTE: u64 = 64;
const WORK: u64 = 1_000_000;

/// Reads an answer by a schema.
pub(super) fn value(answer: &str, schema: &Value) -> Result<Json, String> {
    let tags = Tags::read(answer)?;
    let mut roots = tags.roots();
    // What a model thinks aloud comes before its answer.
    roots.reverse();
    roots.sort_by_key(|root| {
        let is_ours = tags.name(*root).eq_ignore_ascii_case(ROOT);
        (!is_ours, root.is_one_tag())
    });
    let mut reader = Reader {
        tags: &tags,
        book: Book::new(schema),
        out: String::new(),
        path: Vec::new(),
        work_left: WORK + WORK_PER_BYTE * answer.len() as u64,
    };
    let mut first_fault = None;
    for root in roots.into_iter().take(MAX_ROOTS) {
        match reader.whole(root, schema) {
            Ok(value) => return Ok(value),
            Err(fault) => first_fault.get_or_insert(fault),
        };
    }
    Err(first_fault.unwrap_or_else(|| "the answer holds no closed XML element".to_owned()))
}

struct Reader<'t, 's> {
    tags: &'t Tags<'t>,
    book: Book<'s>,
    /// The value so far, as JSON.
    out: String,
    path: Vec<String>,
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
    /// There are others, so it must fit.
    Strict,
}

impl<'t, 's> Reader<'t, 's> {
    fn whole(&mut self, root: Element, schema: &'s Value) -> Result<Json, String> {
        self.out.clear();
        self.path.clear();
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
        let (written, depth) = (self.out.len(), self.path.len());
        for shape in ranked {
            match self.read_as(source, shape, Rigour::Strict) {
                Err(Fault::Misfit(_)) => {
                    self.out.truncate(written);
                    self.path.truncate(depth);
                }
                done => return done,
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
        if let Some(json) = self.listed(source, shape)? {
            self.out.push_str(&json);
            return Ok(());
        }
        if rigour == Rigour::Strict && shape.values().is_some() {
            return Err(self.misfit("is none of the values that it may be"));
        }
        match shape.kind {
            Kind::Members => self.members(source, shape, rigour),
            Kind::List => self.list(source, shape, rigour),
            Kind::Any => self.any(source, shape, rigour),
            kind => self.scalar(source, kind, rigour),
        }
    }

    fn scalar(&mut self, source: &Source<'t>, kind: Kind, rigour: Rigour) -> Result<(), Fault> {
        self.spend(source.len(self.tags))?;
        let Some(text) = source.text(self.tags) else {
            return Err(self.misfit("stands there more than once"));
        };
        let trimmed = text.trim();
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
                let must_be_whole = kind == Kind::Integer && rigour == Rigour::Strict;
                let number = source::number(trimmed)
                    .filter(|number| !must_be_whole || source::is_whole(number));
                (number.map(|_| trimmed.to_owned()), "is to be a number")
            }
            _ => (Some(quoted(&text)), ""),
        };
        let json = json.ok_or_else(|| self.misfit(misfit))?;
        self.out.push_str(&json);
        Ok(())
    }

    fn any(&mut self, source: &Source<'t>, shape: &Shape<'s>, rigour: Rigour) -> Result<(), Fault> {
        let element = match source {
            Source::Repeated(_) => return self.list(source, shape, rigour),
            Source::Attribute(_) => return self.scalar(source, Kind::Text, rigour),
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
            _ => self.scalar(source, Kind::Text, rigour),
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
