//! Random answers: values, the many ways to write them, and the ways to cut them.

use domain::Json;
use proptest::prelude::*;
use serde_json::{Map, Value};

const WORDS: &[&str] = &[
    "true",
    "false",
    "null",
    "0",
    "-0",
    "0.10",
    "1e5",
    "1E-5",
    "-12.50e+3",
    "7",
    "12345678901234567890123",
];

/// A JSON value that knows its numbers' text.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Tree {
    /// A number, `true`, `false` or `null`.
    Word(String),
    Text(String),
    List(Vec<Tree>),
    Object(Vec<(String, Tree)>),
}

/// A small source of choices, so that one number decides how a value is written.
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    /// A number below `bound`.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % bound
    }
}

pub(super) fn any_tree() -> impl Strategy<Value = Tree> {
    let inner = leaf().prop_recursive(3, 16, 4, container);
    prop_oneof![1 => leaf(), 6 => container(inner)]
}

fn container(inner: impl Strategy<Value = Tree> + Clone + 'static) -> BoxedStrategy<Tree> {
    let members = prop::collection::vec(("[a-z_][a-z0-9_]{0,3}", inner.clone()), 0..4);
    prop_oneof![
        prop::collection::vec(inner, 0..4).prop_map(Tree::List),
        members.prop_map(|members| {
            let members: indexmap::IndexMap<String, Tree> = members.into_iter().collect();
            Tree::Object(members.into_iter().collect())
        }),
    ]
    .boxed()
}

fn leaf() -> impl Strategy<Value = Tree> {
    prop_oneof![
        prop::sample::select(WORDS).prop_map(|word| Tree::Word(word.to_owned())),
        "[ -~é€😀𝄞\n\t\"\\\\/\u{7f}\u{1}]{0,6}".prop_map(Tree::Text),
    ]
}

impl Tree {
    /// Writes the value with random white space and escapes.
    pub(super) fn write(&self, dice: &mut Dice) -> String {
        match self {
            Self::Word(word) => word.clone(),
            Self::Text(text) => write_string(text, dice),
            Self::List(items) => {
                let items: Vec<String> = items
                    .iter()
                    .map(|item| padded(&item.write(dice), dice))
                    .collect();
                format!("[{}{}]", space(dice), items.join(","))
            }
            Self::Object(members) => {
                let mut written = Vec::new();
                for (key, value) in members {
                    let key = padded(&write_string(key, dice), dice);
                    written.push(format!("{key}:{}", padded(&value.write(dice), dice)));
                }
                format!("{{{}{}}}", space(dice), written.join(","))
            }
        }
    }

    pub(super) fn of(json: &Json) -> Self {
        if let Some(text) = json.as_string() {
            return Self::Text(text);
        }
        if let Ok(items) = serde_json::from_str::<Vec<Json>>(json.text()) {
            return Self::List(items.iter().map(Self::of).collect());
        }
        match serde_json::from_str::<domain::JsonObject>(json.text()) {
            Ok(members) => Self::Object(
                members
                    .into_iter()
                    .map(|(key, value)| (key, Self::of(&value)))
                    .collect(),
            ),
            Err(_) => Self::Word(json.text().to_owned()),
        }
    }

    /// The value as leaves can tell it: no empty containers, holes where items were such.
    pub(super) fn told(&self) -> Option<Value> {
        match self {
            Self::Word(word) => Some(Value::String(format!("#{word}"))),
            Self::Text(text) => Some(Value::String(format!("${text}"))),
            Self::List(items) => {
                let mut told: Vec<Option<Value>> = items.iter().map(Self::told).collect();
                while told.pop_if(|item| item.is_none()).is_some() {}
                let told: Vec<Value> = told.into_iter().map(Option::unwrap_or_default).collect();
                (!told.is_empty()).then_some(Value::Array(told))
            }
            Self::Object(members) => {
                let told: Map<String, Value> = members
                    .iter()
                    .filter_map(|(key, value)| Some((key.clone(), value.told()?)))
                    .collect();
                (!told.is_empty()).then_some(Value::Object(told))
            }
        }
    }

    /// Whether this is the other value, cut off behind a complete member.
    pub(super) fn begins(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::List(mine), Self::List(others)) => {
                let Some((last, before)) = mine.split_last() else {
                    return others.is_empty();
                };
                others.len() >= mine.len()
                    && others.starts_with(before)
                    && last.begins(&others[before.len()])
            }
            (Self::Object(mine), Self::Object(others)) => {
                let Some(((key, last), before)) = mine.split_last() else {
                    return others.is_empty();
                };
                others.len() >= mine.len()
                    && others.starts_with(before)
                    && &others[before.len()].0 == key
                    && last.begins(&others[before.len()].1)
            }
            _ => self == other,
        }
    }

    /// A value much like this one, as another model might have it.
    pub(super) fn varied(&self, dice: &mut Dice) -> Self {
        if dice.below(8) == 0 {
            return Self::Word("7".to_owned());
        }
        match self {
            Self::Word(_) if dice.below(2) == 0 => Self::Word("-1".to_owned()),
            Self::Word(word) => Self::Word(word.clone()),
            Self::Text(text) if dice.below(2) == 0 => Self::Text(format!("{text}é\"")),
            Self::Text(text) if dice.below(4) == 0 => Self::Text(text.chars().skip(1).collect()),
            Self::Text(text) => Self::Text(text.clone()),
            Self::List(items) => {
                let mut items: Vec<Self> = items.iter().map(|item| item.varied(dice)).collect();
                items.truncate(dice.below(8));
                items.extend((0..dice.below(2)).map(|_| Self::Text("more".to_owned())));
                Self::List(items)
            }
            Self::Object(members) => {
                let mut members: Vec<(String, Self)> = members
                    .iter()
                    .map(|(key, value)| (key.clone(), value.varied(dice)))
                    .filter(|(key, _)| key.len() % 5 != 4)
                    .collect();
                members.reverse();
                members.push(("Extra".to_owned(), Self::List(Vec::new())));
                members.truncate(1 + dice.below(8));
                Self::Object(members)
            }
        }
    }
}

/// Parts of a text, cut at random places.
pub(super) fn split<'a>(text: &'a str, dice: &mut Dice) -> Vec<&'a str> {
    let longest = [1, 4, 40][dice.below(3)];
    let mut parts = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let part = (0..=dice.below(longest)).fold(0, |at, _| next_boundary(rest, at));
        let (part, later) = rest.split_at(part);
        parts.push(part);
        rest = later;
    }
    parts
}

fn next_boundary(text: &str, at: usize) -> usize {
    text[at..]
        .chars()
        .next()
        .map_or(at, |next| at + next.len_utf8())
}

fn padded(text: &str, dice: &mut Dice) -> String {
    format!("{}{text}{}", space(dice), space(dice))
}

fn space(dice: &mut Dice) -> &'static str {
    ["", "", "", " ", "\n  ", "\t\r\n"][dice.below(6)]
}

fn write_string(text: &str, dice: &mut Dice) -> String {
    let mut written = String::from("\"");
    for character in text.chars() {
        if dice.below(4) == 0 {
            for unit in character.encode_utf16(&mut [0; 2]) {
                let hex = format!("{unit:04x}");
                written += "\\u";
                written += &if dice.below(2) == 0 {
                    hex
                } else {
                    hex.to_uppercase()
                };
            }
        } else if character == '/' && dice.below(2) == 0 {
            written += "\\/";
        } else {
            let quoted = Json::of(&character);
            written += &quoted.text()[1..quoted.text().len() - 1];
        }
    }
    written + "\""
}
