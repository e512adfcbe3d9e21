//! What holds for any answer, however it is written and wherever it is cut.

use std::env;

use domain::Json;
use proptest::{prelude::*, test_runner::TestRunner};
use serde_json::{Map, Value};

use super::{
    trees::{Dice, Tree, any_tree, split},
    *,
};

const DEFAULT_CASES: u32 = 100;

/// Runs a law for as many random values as `PROPTEST_CASES` says.
fn for_any(law: impl Fn(&Tree, u64)) {
    let cases = env_cases().unwrap_or(DEFAULT_CASES);
    let config = ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    TestRunner::new(config)
        .run(&(any_tree(), any::<u64>()), |(tree, seed)| {
            law(&tree, seed);
            Ok(())
        })
        .unwrap();
}

#[expect(
    clippy::disallowed_methods,
    reason = "the number of cases is the runner's choice"
)]
fn env_cases() -> Option<u32> {
    env::var("PROPTEST_CASES").ok()?.parse().ok()
}

fn begins_of(tree: &Tree) -> Begins {
    match tree {
        Tree::Object(_) => Begins::Object,
        Tree::List(_) => Begins::Array,
        _ => Begins::Anything,
    }
}

/// The text as a model may wrap it.
fn wrapped(text: &str, begins: Begins, dice: &mut Dice) -> String {
    let prose = begins != Begins::Anything;
    match dice.below(5) {
        1 => format!(" \n{text}\n"),
        2 => format!("```json\n{text}\n```"),
        3 if prose => format!("Here \"it\" is [see] {{x}}:\n{text}\nThat `was` \"it\" {{."),
        4 if prose => format!("Sure, é!\n```\n{text}\n```\nDone [1"),
        _ => text.to_owned(),
    }
}

fn read_all(
    begins: Begins,
    parts: &[&str],
    ended_by_itself: bool,
) -> (Vec<Piece>, Result<Finished, Fault>) {
    let mut reader = Reader::new(begins);
    let mut out = Vec::new();
    for part in parts {
        if let Err(fault) = reader.push(part, &mut out) {
            return (out, Err(fault));
        }
    }
    let finished = reader.finish(ended_by_itself, &mut out);
    (out, finished)
}

fn raw(pieces: &[Piece]) -> String {
    pieces.iter().map(|piece| piece.raw.as_str()).collect()
}

/// The leaves in the order of their first pieces, strings joined.
fn leaves(pieces: &[Piece]) -> Vec<(String, Value)> {
    let mut leaves: Vec<(String, Value)> = Vec::new();
    for leaf in pieces.iter().filter_map(|piece| piece.leaf.as_ref()) {
        let path = leaf.path.to_string();
        let part = leaf.value.as_string();
        match (leaves.last_mut(), part) {
            (Some((last, Value::String(text))), Some(part)) if *last == path => {
                text.push_str(&part);
            }
            (_, Some(part)) => leaves.push((path, Value::String(format!("${part}")))),
            (_, None) => leaves.push((path, Value::String(format!("#{:?}", leaf.value)))),
        }
    }
    leaves
}

/// Builds a value from its leaves by their paths alone.
fn rebuilt(leaves: &[(String, Value)]) -> Option<Value> {
    let mut root = Value::Null;
    for (path, leaf) in leaves {
        let mut place = &mut root;
        if path != "_root" {
            for step in path
                .replace('[', ".[")
                .split('.')
                .filter(|step| !step.is_empty())
            {
                place = match step.strip_prefix('[') {
                    Some(index) => item(place, index.trim_end_matches(']').parse().unwrap()),
                    None => member(place, step),
                };
            }
        }
        assert!(place.is_null(), "`{path}` came twice");
        *place = leaf.clone();
    }
    (!root.is_null()).then_some(root)
}

fn item(place: &mut Value, index: usize) -> &mut Value {
    if place.is_null() {
        *place = Value::Array(Vec::new());
    }
    let items = place.as_array_mut().unwrap();
    assert!(index + 1 >= items.len(), "items come in order");
    items.resize(index + 1, Value::Null);
    &mut items[index]
}

fn member<'a>(place: &'a mut Value, key: &str) -> &'a mut Value {
    if place.is_null() {
        *place = Value::Object(Map::new());
    }
    place
        .as_object_mut()
        .unwrap()
        .entry(key)
        .or_insert(Value::Null)
}

/// Every place where a text can be cut.
fn cuts(text: &str) -> impl Iterator<Item = usize> {
    (0..=text.len()).filter(|at| text.is_char_boundary(*at))
}

fn characters(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(|_| true)
}

#[test]
fn both_forms_of_any_answer_give_its_value() {
    for_any(|tree, seed| {
        let dice = &mut Dice::new(seed);
        let text = tree.write(dice);
        let begins = [begins_of(tree), Begins::Anything][dice.below(2)];
        let answer = wrapped(&text, begins, dice);

        let (pieces, finished) = read_all(begins, &split(&answer, dice), true);
        let read = crate::calls::lenient::read(&answer, true, begins);

        assert_eq!(finished.unwrap().text, text);
        assert_eq!(raw(&pieces), text);
        assert_eq!(read.unwrap().0, Json::parse(&text).unwrap());
        let leaves = leaves(&pieces);
        let told = tree.told();
        assert_eq!(rebuilt(&leaves), told);
        assert_eq!(leaves, told.iter().flat_map(in_order).collect::<Vec<_>>());
    });
}

/// The leaves of a value as it is told, in document order.
fn in_order(told: &Value) -> Vec<(String, Value)> {
    fn gather(path: &str, value: &Value, leaves: &mut Vec<(String, Value)>) {
        match value {
            Value::Null => {}
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    gather(&format!("{path}[{index}]"), item, leaves);
                }
            }
            Value::Object(members) => {
                for (key, member) in members {
                    let path = if path.is_empty() {
                        key.clone()
                    } else {
                        format!("{path}.{key}")
                    };
                    gather(&path, member, leaves);
                }
            }
            leaf => {
                let path = if path.is_empty() { "_root" } else { path };
                leaves.push((path.to_owned(), leaf.clone()));
            }
        }
    }
    let mut leaves = Vec::new();
    gather("", told, &mut leaves);
    leaves
}

#[test]
fn any_cut_answer_goes_on_to_the_same_value() {
    for_any(|tree, seed| {
        let dice = &mut Dice::new(seed);
        let text = tree.write(dice);
        let begins = begins_of(tree);
        let answer = wrapped(&text, begins, dice);
        let whole = Json::parse(&text).unwrap();
        let mut reader = Reader::new(begins);
        let mut sent = Vec::new();

        for part in characters(&answer) {
            reader.push(part, &mut sent).unwrap();
            let unfinished = reader.unfinished();
            let completed = unfinished.rest(&whole).unwrap();

            assert_eq!(raw(&sent), unfinished.text());
            assert_eq!(Tree::of(&completed.value), *tree);
            let joined = [sent.clone(), completed.pieces].concat();
            assert_eq!(Json::parse(&raw(&joined)).unwrap(), completed.value);
            assert_eq!(rebuilt(&leaves(&joined)), tree.told());
        }
    });
}

#[test]
fn another_completion_never_changes_what_was_sent() {
    for_any(|tree, seed| {
        let dice = &mut Dice::new(seed);
        let text = tree.write(dice);
        let mut reader = Reader::new(begins_of(tree));
        let mut sent = Vec::new();

        for part in characters(&text) {
            reader.push(part, &mut sent).unwrap();
            let other = Json::parse(&tree.varied(dice).write(dice)).unwrap();
            let unfinished = reader.unfinished();
            let Ok(completed) = unfinished.rest(&other) else {
                continue;
            };

            let joined = [sent.clone(), completed.pieces].concat();
            assert_eq!(Json::parse(&raw(&joined)).unwrap(), completed.value);
            let (before, after) = (leaves(&sent), leaves(&joined));
            assert_eq!(rebuilt(&after), Tree::of(&completed.value).told());
            assert_eq!(completed.value.to_value(), other.to_value());
            if let Some(((path, last), finished)) = before.split_last() {
                let (_, grown) = &after[finished.len()];
                assert!(after.starts_with(finished), "{path}");
                assert_eq!(&after[finished.len()].0, path);
                assert!(grown.as_str().unwrap().starts_with(last.as_str().unwrap()));
                if !last.as_str().unwrap().starts_with('$') {
                    assert_eq!(grown, last);
                }
            }
        }
    });
}

#[test]
fn an_answer_cut_anywhere_ends_in_a_fault_or_whole_members() {
    for_any(|tree, seed| {
        let dice = &mut Dice::new(seed);
        let text = tree.write(dice);
        let begins = begins_of(tree);
        let answer = wrapped(&text, begins, dice);

        for cut in cuts(&answer) {
            let (pieces, finished) = read_all(begins, &[&answer[..cut]], true);
            if let Ok(finished) = finished {
                let value = Tree::of(&Json::parse(&finished.text).unwrap());
                let may_be_cut = matches!(tree, Tree::Word(_));
                assert!(may_be_cut || value.begins(tree), "{}", &answer[..cut]);
                assert_eq!(raw(&pieces), finished.text);
            }
            let (_, finished) = read_all(begins, &[&answer[..cut]], false);
            assert!(finished.map_or(true, |finished| finished.text == text));
        }
    });
}
