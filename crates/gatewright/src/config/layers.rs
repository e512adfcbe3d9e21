//! The layers, one over the other: defaults, file, environment, flags.
//!
//! What is gathered here has known keys and the right types; whether a value makes sense is not asked.

use std::{
    fs,
    path::{Path, PathBuf},
};

use indexmap::{IndexMap, IndexSet};
use toml::{Table, Value, de::DeTable};

use crate::config::{
    Sources,
    key::{Entry, Key, Origin, shouted},
    problem,
    schema::{self, Kind},
};

const VARIABLE_PREFIX: &str = "GATEWRIGHT_";

/// What the layers say together.
#[derive(Debug, Default)]
pub(crate) struct Layers {
    /// The value that is in force for each key that has one.
    pub(crate) entries: IndexMap<Key, Entry>,
    /// What is in force where nobody says anything.
    defaults: IndexMap<Key, Entry>,
    /// The providers and projects that are named, each with its section: those of the file in its order, then those of
    /// the environment.
    pub(crate) named: IndexSet<(String, String)>,
    /// What was refused.
    pub(crate) problems: Vec<String>,
}

/// Lays one layer over the other.
pub(crate) fn gather(sources: &Sources) -> Layers {
    let mut layers = Layers::default();
    let defaults = schema::DEFAULTS.parse().expect("the defaults are TOML");
    layers.add_defaults(&defaults, &Key::root());
    layers.entries.clone_from(&layers.defaults);
    if let Some(path) = &sources.file {
        layers.add_file(path);
    }
    for (name, text) in &sources.environment {
        layers.add_variable(name, text);
    }
    let flags = [
        ("--listen", ["server", "listen"], &sources.listen),
        ("--data-dir", ["store", "data_dir"], &sources.data_dir),
    ];
    for (flag, key, given) in flags {
        if let Some(text) = given {
            let value = Value::String(text.clone());
            let origin = Origin::Flag(flag);
            layers.offer(Key::new(key), Entry { value, origin });
        }
    }
    layers
}

impl Layers {
    fn add_defaults(&mut self, table: &Table, at: &Key) {
        for (name, value) in table {
            let key = at.join(name);
            match value {
                Value::Table(inner) => self.add_defaults(inner, &key),
                value => {
                    let (value, origin) = (value.clone(), Origin::Default);
                    self.defaults.insert(key, Entry { value, origin });
                }
            }
        }
    }

    fn add_file(&mut self, path: &Path) {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(fault) => {
                let path = path.display();
                self.problems.push(format!(
                    "cannot read the configuration file `{path}`: {fault}"
                ));
                return;
            }
        };
        let file = File {
            path: path.to_owned(),
            text: &text,
        };
        // Parsed twice: one form has the values, the other the places.
        match (text.parse::<Table>(), DeTable::parse(&text)) {
            (Ok(values), Ok(places)) => {
                self.add_table(&values, places.get_ref(), &Key::root(), &file);
            }
            (Err(fault), _) | (_, Err(fault)) => {
                // The error's own text shows the line, which may hold a secret.
                let line = fault.span().map_or(1, |span| file.line(span.start));
                let (path, message) = (path.display(), fault.message());
                self.problems
                    .push(format!("{path}:{line} is not TOML: {message}"));
            }
        }
    }

    fn add_table(&mut self, values: &Table, places: &DeTable<'_>, at: &Key, file: &File<'_>) {
        for (name, place) in places {
            let key = at.join(name.get_ref());
            let Some(value) = values.get(name.get_ref().as_ref()) else {
                continue;
            };
            if key.segments().len() == 2 && value.is_table() {
                self.remember(&key);
            }
            match (value, place.get_ref().as_table()) {
                (Value::Table(inner), Some(inner_places)) if !inner.is_empty() => {
                    self.add_table(inner, inner_places, &key, file);
                }
                (Value::Table(_), _) if schema::is_section(&key) => {}
                (value, _) => {
                    let origin = file.origin(name.span().start);
                    let value = value.clone();
                    self.offer(key, Entry { value, origin });
                }
            }
        }
    }

    fn add_variable(&mut self, name: &str, text: &str) {
        let Some(key) = self.key_of_variable(name) else {
            return;
        };
        let value = match schema::kind(&key) {
            None | Some(Kind::Text) => Value::String(text.to_owned()),
            // What is no TOML stays text, and is refused as the wrong type.
            Some(_) => text
                .trim()
                .parse()
                .unwrap_or_else(|_| Value::String(text.to_owned())),
        };
        let origin = Origin::Environment(name.to_owned());
        self.offer(key, Entry { value, origin });
    }

    /// The key that a variable stands for, if it stands for one.
    fn key_of_variable(&self, name: &str) -> Option<Key> {
        let segments = name.strip_prefix(VARIABLE_PREFIX)?;
        let (section, rest) = segments.split_once("__")?;
        let has_names = matches!(section, "PROVIDERS" | "PROJECTS");
        let Some((name, setting)) = rest.split_once("__").filter(|_| has_names) else {
            return Some(Key::new(segments.split("__").map(str::to_lowercase)));
        };
        // A name in the file may have signs that a variable cannot have.
        let section = section.to_lowercase();
        let mut named = self.named.iter().filter(|(known, _)| *known == section);
        let named = named.find(|(_, named)| shouted(named) == name);
        let name = named.map_or_else(|| name.to_lowercase(), |(_, named)| named.clone());
        let setting = setting.split("__").map(str::to_lowercase);
        Some(Key::new([section, name].into_iter().chain(setting)))
    }

    /// Takes a value over what earlier layers say, if there is such a key and it has this type.
    fn offer(&mut self, key: Key, entry: Entry) {
        let Some(kind) = schema::kind(&key) else {
            let problem = if schema::is_section(&key) {
                let place = entry.origin.place();
                format!("`{key}` {place} is a section and takes no value")
            } else {
                problem::unknown(&key, &entry)
            };
            self.problems.push(problem);
            return;
        };
        if !kind.admits(&entry.value) {
            self.problems.push(problem::wrong_type(&key, &entry, kind));
            return;
        }
        self.remember(&key);
        self.entries.insert(key, entry);
    }

    /// That a provider or project was named.
    fn remember(&mut self, key: &Key) {
        if let Some((section, name)) = key.named() {
            self.named.insert((section.to_owned(), name.to_owned()));
        }
    }
}

impl Layers {
    /// Refuses the value that is in force for a key and goes back to its default. Says whether there was one to refuse.
    pub(crate) fn refuse(&mut self, key: &Key, reason: &str) -> bool {
        let Some(entry) = self.entries.get_mut(key) else {
            self.problems.push(format!(
                "the configuration cannot be read at `{key}`: {reason}"
            ));
            return false;
        };
        self.problems.push(problem::bad(key, entry, reason));
        let is_given = entry.origin != Origin::Default;
        match self.defaults.get(key) {
            Some(default) => entry.clone_from(default),
            None => {
                self.entries.shift_remove(key);
            }
        }
        is_given
    }
}

/// A file and its text, to tell lines.
struct File<'a> {
    path: PathBuf,
    text: &'a str,
}

impl File<'_> {
    /// The line of a byte, counted from one.
    fn line(&self, at: usize) -> usize {
        let before = self.text.as_bytes().iter().take(at);
        before.filter(|byte| **byte == b'\n').count() + 1
    }

    fn origin(&self, at: usize) -> Origin {
        Origin::File {
            path: self.path.clone(),
            line: self.line(at),
        }
    }
}
