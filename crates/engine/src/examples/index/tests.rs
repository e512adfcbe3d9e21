//! Which entries are nearest, and what finding them costs.

use domain::DatasetId;

use super::*;

fn entry(count: u64, input: &str) -> Entry {
    let id = |count: u64| format!("00000000-0000-7000-8000-{count:012}");
    Entry {
        id: EntryId::parse(&id(count)).unwrap(),
        dataset_id: DatasetId::parse(&id(0)).unwrap(),
        input: Json::of(&input),
        output: Json::of(&count),
        expected: None,
        comment: None,
        created_at: Timestamp::from_micros(i64::try_from(count).unwrap()),
    }
}

fn index(inputs: &[&str]) -> Index {
    let mut index = Index::default();
    let entries = (1..)
        .zip(inputs)
        .map(|(count, input)| Read::new(entry(count, input), None));
    index.put(1, entries.collect());
    index
}

fn outputs(entries: &[Arc<Entry>]) -> Vec<&str> {
    entries.iter().map(|entry| entry.output.text()).collect()
}

/// Sentences of ten words out of a vocabulary in which few words are frequent and many are rare.
fn sentences(count: u64) -> Vec<String> {
    let mut chance = 0x9e37_79b9_7f4a_7c15_u64;
    let mut word = || {
        chance = chance
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let (range, pick) = ((chance >> 60) + 1, chance >> 33);
        format!("w{}", pick % (range * range * range * 5))
    };
    let sentence = |_| (0..10).map(|_| word()).collect::<Vec<_>>().join(" ");
    (0..count).map(sentence).collect()
}

fn large(count: u64) -> Index {
    let sentences = sentences(count);
    let inputs: Vec<&str> = sentences.iter().map(String::as_str).collect();
    index(&inputs)
}

#[test]
fn shared_rare_words_weigh_more_than_frequent_ones() {
    let index = index(&[
        "the cat and the dog",
        "the bird and the tree",
        "a zebra",
        "the dog and the sea",
    ]);

    let found = index.by_words(&Json::of(&"The ZEBRA and the sky"), 1);

    assert_eq!(outputs(&found), ["3"]);
}

#[test]
fn a_long_entry_does_not_win_by_its_length() {
    let words: Vec<String> = (0..500).map(|count| format!("w{count}")).collect();
    let long = format!("parrots {}", words.join(" "));
    let index = index(&["red parrots", &long, "blue whales"]);

    let found = index.by_words(&Json::of(&"parrots w7"), 2);

    assert_eq!(outputs(&found), ["1", "2"]);
}

#[test]
fn of_equals_the_newest_comes_first() {
    let index = index(&["x", "same words", "same words", "y"]);

    let found = index.by_words(&Json::of(&"same words"), 3);

    assert_eq!(outputs(&found), ["3", "2", "4"]);
}

#[test]
fn a_changed_entry_takes_the_place_of_its_older_self() {
    let mut changed = index(&["apples", "pears", "plums"]);
    changed.put(
        2,
        vec![
            Read::new(entry(1, "quinces and pears"), None),
            Read::new(entry(4, "figs"), None),
        ],
    );
    let mut fresh = Index::default();
    let inputs = [
        (1, "quinces and pears"),
        (2, "pears"),
        (3, "plums"),
        (4, "figs"),
    ];
    fresh.put(
        2,
        inputs
            .map(|(count, input)| Read::new(entry(count, input), None))
            .into(),
    );

    for query in ["apples", "pears", "quinces", "figs and plums"] {
        let query = Json::of(&query);
        assert_eq!(changed.by_words(&query, 4), fresh.by_words(&query, 4));
    }
    assert_eq!(
        (changed.len(), changed.version, changed.bytes()),
        (4, 2, fresh.bytes())
    );
    assert!(!changed.places.contains_key("apples"));
}

#[test]
fn the_oldest_go_beyond_the_bound() {
    let output = Json::of(&"x".repeat(1024 * 1024));
    let long = |count| Entry {
        output: output.clone(),
        ..entry(count, "x")
    };
    let mut index = Index::default();

    let entries = (1..=100).map(|count| Read::new(long(count), None));
    index.put(1, entries.collect());

    assert!(
        index.bytes() <= MAX_BYTES && index.len() > 50,
        "{}",
        index.len()
    );
    let nearest = index.by_words(&Json::null(), 1);
    assert_eq!(nearest[0].id, long(100).id);
    assert!(!index.by_id.contains_key(&long(1).id));
}

#[test]
fn vectors_decide_when_every_entry_has_one_of_the_right_length() {
    let mut index = index(&["a", "b", "c"]);
    assert_eq!(index.by_vector(vec![1.0, 0.0], 1), None);

    let vectors = [vec![0.0, 2.0], vec![3.0, 0.1], vec![1.0, 1.0]];
    let inputs = (1..)
        .zip(["a", "b", "c"])
        .map(|(count, input)| entry(count, input));
    index.put_vectors(inputs.zip(vectors).collect());

    let found = index.by_vector(vec![5.0, 0.0], 2).unwrap();
    assert_eq!(outputs(&found), ["2", "3"]);
    assert_eq!(index.lacking(), 0);
    assert_eq!(index.by_vector(vec![1.0, 0.0, 0.0], 1), None);
}

#[test]
fn a_vector_of_an_input_that_changed_is_not_kept() {
    let mut index = index(&["a"]);

    index.put_vectors(vec![
        (entry(1, "older"), vec![1.0]),
        (entry(9, "gone"), vec![1.0]),
    ]);
    index.put_vectors(vec![
        (entry(1, "a"), vec![f32::NAN]),
        (entry(1, "a"), vec![0.0]),
    ]);
    assert_eq!(index.lacking(), 1);

    index.put_vectors(vec![(entry(1, "a"), vec![1.0, 1.0])]);
    assert_eq!(index.lacking(), 0);

    index.forget_vectors_unlike(3);
    assert_eq!((index.lacking(), index.without_vector(9).len()), (1, 1));
}

#[test]
fn what_a_selection_visits_is_bounded() {
    let index = large(10_000);
    let short = Json::of(&sentences(1)[0]);
    let long = Json::of(&sentences(20_000).join(" "));

    let (_, of_short) = index.shared(&words(&short));
    let (_, of_long) = index.shared(&words(&long));

    assert!(
        long.text().len() > 1_000_000 * 3 / 4,
        "{}",
        long.text().len()
    );
    assert!(of_short < 60_000, "{of_short}");
    assert!(of_long < 60_000, "{of_long}");
}

#[test]
#[ignore = "prints how long a selection takes; the figure means something in a release build alone"]
fn timing_of_a_selection() {
    let index = large(10_000);
    let short = Json::of(&sentences(1)[0]);
    let long = Json::of(&sentences(20_000).join(" "));

    for (name, input) in [("short", short), ("long", long)] {
        let began = std::time::Instant::now();
        for _ in 0..100 {
            assert_eq!(index.by_words(&input, 3).len(), 3);
        }
        println!("{name}: {:?} for one of 10,000", began.elapsed() / 100);
    }
}
