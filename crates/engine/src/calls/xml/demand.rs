//! What the model is told of the XML that it is to answer with: the rules, and a sketch of the form.

use std::{
    collections::{HashMap, HashSet},
    fmt::Write,
    rc::Rc,
};

use domain::Json;
use indexmap::IndexSet;
use serde_json::{Map, Value};

use super::{
    ITEM, ROOT, is_name,
    render::Named,
    shape::{Book, Kind, Shape},
};

const RULES: &str = "Answer in XML only: one `answer` element, complete, with no text around it. Its form is sketched below: words in capital letters stand for values, and the comments explain the form; do not repeat the comments.
- Write `&amp;` for `&` and `&lt;` for `<` in text.
- An array holds one `item` element for each entry; without entries it is an empty element.
- Leave out an optional element that has no value.";
const NULL: &str = "- An element that may be null is left empty to say null; an empty text, array or object is then written as `<![CDATA[]]>`.";
const MEMBERS: &str = "- A member whose name is no XML name is written as an element `member` with that name: `<member name=\"any name\">`.";

/// What is told of a schema beside its form.
const NOTES: [&str; 15] = [
    "format",
    "pattern",
    "minLength",
    "maxLength",
    "minimum",
    "exclusiveMinimum",
    "maximum",
    "exclusiveMaximum",
    "multipleOf",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "default",
];
/// Deeper forms are not sketched; a schema that is taken is not so deep.
const MAX_DEPTH: usize = 128;

/// The demand for an answer in XML that stands for a value of the schema.
pub(crate) fn demand(schema: &Json) -> String {
    let schema = schema.to_value();
    let mut sketch = Sketch {
        book: Book::new(&schema),
        out: String::new(),
        shown: HashMap::new(),
        speaks_of_null: false,
        speaks_of_members: false,
    };
    sketch.element(&Named::own(ROOT), &[&schema], "", 0);
    let mut rules = vec![RULES];
    rules.extend(sketch.speaks_of_null.then_some(NULL));
    rules.extend(sketch.speaks_of_members.then_some(MEMBERS));
    format!("{}\n\n{}", rules.join("\n"), sketch.out.trim_end())
}

struct Sketch<'s> {
    book: Book<'s>,
    out: String,
    /// The forms that were sketched, by what they are called where that was.
    shown: HashMap<Vec<usize>, String>,
    speaks_of_null: bool,
    speaks_of_members: bool,
}

impl<'s> Sketch<'s> {
    /// Sketches an element; `note` says what the object around it says of it.
    fn element(&mut self, named: &Named, schemas: &[&'s Value], note: &str, depth: usize) {
        let shapes = self.book.shapes(schemas);
        let may_be_null = shapes.len() > 1 && shapes.iter().any(|shape| shape.kind == Kind::Null);
        self.speaks_of_null |= may_be_null || shapes.iter().any(may_be_listed_null);
        let forms: Vec<&Shape<'s>> = shapes
            .iter()
            .filter(|shape| shape.kind != Kind::Null || shapes.len() == 1)
            .collect();
        let mut notes = Notes::new(note);
        if may_be_null {
            notes.add("may be null");
        }
        let is_container = |shape: &&&Shape<'_>| matches!(shape.kind, Kind::List | Kind::Members);
        let containers = forms.iter().filter(is_container).count();
        if containers == 0 {
            self.scalar(named, &forms, notes, depth);
            return;
        }
        let count = forms.len();
        for (at, form) in forms.into_iter().enumerate() {
            let mut notes = notes.clone();
            if count > 1 {
                notes.add(&format!("form {} of {count}: write one of them", at + 1));
            }
            match form.kind {
                Kind::List | Kind::Members => self.container(named, form, notes, depth),
                _ => self.scalar(named, &[form], notes, depth),
            }
        }
    }

    fn scalar(&mut self, named: &Named, forms: &[&Shape<'s>], mut notes: Notes, depth: usize) {
        let mut words: Vec<&str> = Vec::new();
        for form in forms {
            let word = match form.kind {
                Kind::Null => "",
                Kind::Boolean => "true or false",
                Kind::Integer => "INTEGER",
                Kind::Number => "NUMBER",
                Kind::Text => "TEXT",
                _ if form.values().is_some() => "VALUE",
                _ => "ANYTHING",
            };
            if !words.contains(&word) {
                words.push(word);
            }
            notes.of(form);
        }
        let line = format!("{}{}{}", named.open, words.join(" or "), named.close);
        self.line(depth, &line, &notes);
    }

    fn container(&mut self, named: &Named, form: &Shape<'s>, mut notes: Notes, depth: usize) {
        // Different references to one form are one form.
        let views = form.views.iter().filter(|view| !is_reference(view));
        let key = views.map(|view| std::ptr::from_ref(*view).addr());
        let key: Vec<usize> = key.chain([form.kind as usize]).collect();
        notes.of(form);
        if let Some(above) = self.shown.get(&key) {
            notes.add(&format!("of the same form as {above} above"));
        }
        if self.shown.contains_key(&key) || depth > MAX_DEPTH {
            self.line(
                depth,
                &format!("{}ELEMENTS{}", named.open, named.close),
                &notes,
            );
            return;
        }
        self.shown.insert(key, named.open.clone());
        self.line(depth, &named.open, &notes);
        match form.kind {
            Kind::List => self.entries(form, depth + 1),
            _ => self.members(form, depth + 1),
        }
        self.line(depth, &named.close, &Notes::new(""));
    }

    fn entries(&mut self, form: &Shape<'s>, depth: usize) {
        let tuple = form.tuple();
        for index in 0..tuple {
            let note = format!("entry {}", index + 1);
            self.element(&Named::own(ITEM), &form.entry(index), &note, depth);
        }
        let rest = form.entry(tuple);
        if tuple == 0 || rest.iter().any(|rest| rest.is_object()) {
            self.element(&Named::own(ITEM), &rest, "one for each entry", depth);
        }
    }

    fn members(&mut self, form: &Shape<'s>, depth: usize) {
        let required: HashSet<&str> = form.required().collect();
        let names: IndexSet<&str> = form.properties().collect();
        for name in names {
            self.speaks_of_members |= !is_name(name);
            let note = if required.contains(name) {
                "required"
            } else {
                "optional"
            };
            self.element(&Named::member(name), &form.property(name), note, depth);
        }
        for (name, schemas) in self.book.conditional_members(form) {
            self.speaks_of_members |= !is_name(name);
            for schema in schemas {
                self.element(&Named::member(name), &[schema], "optional", depth);
            }
        }
        let rest = form.rest();
        self.speaks_of_members |= form.patterns().next().is_some() || !rest.is_empty();
        let named = Named::own("NAME");
        for (pattern, schema) in form.patterns() {
            let note = format!("any number of members whose names match {pattern}");
            self.element(&named, &[schema], &note, depth);
        }
        if !rest.is_empty() {
            self.element(&named, &rest, "any number of members of any name", depth);
        }
    }

    fn line(&mut self, depth: usize, line: &str, notes: &Notes) {
        self.out.extend(std::iter::repeat_n("  ", depth));
        self.out.push_str(line);
        if !notes.0.is_empty() {
            // The sketch is to be well-formed, whatever a description says.
            let notes = notes.0.join("; ").replace("-->", "-- >");
            write!(self.out, " <!-- {notes} -->").expect("a string takes all");
        }
        self.out.push('\n');
    }
}

/// Whether a schema says nothing but where its form stands.
fn is_reference(view: &Map<String, Value>) -> bool {
    let words = [
        "$ref",
        "$dynamicRef",
        "$defs",
        "definitions",
        "title",
        "description",
        "default",
    ];
    view.contains_key("$ref") && view.keys().all(|word| words.contains(&word.as_str()))
}

fn may_be_listed_null(shape: &Shape<'_>) -> bool {
    shape
        .values()
        .is_some_and(|values| values.iter().any(|value| value.is_null()))
}

/// What stands in a comment, each thing once.
#[derive(Clone)]
struct Notes(Vec<Rc<str>>);

impl Notes {
    fn new(note: &str) -> Self {
        let mut notes = Self(Vec::new());
        notes.add(note);
        notes
    }

    fn add(&mut self, note: &str) {
        if !note.is_empty() && !self.0.iter().any(|known| **known == *note) {
            self.0.push(note.into());
        }
    }

    /// What the schemas of a form say beside it.
    fn of(&mut self, form: &Shape<'_>) {
        if let Some(values) = form.values() {
            let values: Vec<String> = values.into_iter().map(told).collect();
            let one_of = if values.len() == 1 {
                "always"
            } else {
                "one of"
            };
            self.add(&format!("{one_of}: {}", values.join(" | ")));
        }
        for word in NOTES {
            for value in form.word(word) {
                self.add(&format!("{word} {}", told(value)));
            }
        }
        for word in ["title", "description"] {
            for text in form.word(word).filter_map(Value::as_str) {
                self.add(text);
            }
        }
    }
}

/// A value as it would be written, if it is short; a container as JSON.
fn told(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), ToOwned::to_owned)
}
