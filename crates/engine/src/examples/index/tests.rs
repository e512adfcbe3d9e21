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
fn what_was_deleted_is_never_chosen_and_leaves_nothing_behind() {
    let mut index = index(&["a zebra", "a lion", "a zebra and a lion", "a whale"]);
    let vectors = [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [1.0, 2.0]].map(Vec::from);
    let entries = (1..).zip(["a zebra", "a lion", "a zebra and a lion", "a whale"]);
    let entries = entries.map(|(count, input)| entry(count, input));
    index.put_vectors(entries.zip(vectors).collect());

    index.drop_deleted(&[
        entry(3, "").id,
        entry(1, "").id,
        entry(3, "").id,
        entry(9, "").id,
    ]);

    assert_eq!(
        outputs(&index.by_words(&Json::of(&"zebra and lion"), 9)),
        ["2", "4"]
    );
    let near = index.by_vector(vec![0.0, 1.0], 9).unwrap();
    assert_eq!(outputs(&near), ["4", "2"]);
    assert!(!index.places.contains_key("zebra"));
    assert_eq!(
        (index.len(), index.by_age.len(), index.lacking()),
        (2, 2, 0)
    );

    index.drop_deleted(&[entry(2, "").id, entry(4, "").id]);
    assert_eq!((index.len(), index.bytes(), index.places.len()), (0, 0, 0));
    assert!(index.by_words(&Json::of(&"zebra"), 9).is_empty());
}

#[test]
fn after_many_deletions_it_is_as_if_the_deleted_had_never_been() {
    let sentences = sentences(2000);
    let read = |count: &u64| {
        let input = &sentences[usize::try_from(*count).unwrap() - 1];
        Read::new(entry(*count, input), None)
    };
    let is_deleted = |count: &u64| !count.is_multiple_of(3);
    let mut index = Index::default();
    index.put(1, (1..=1500).map(|count| read(&count)).collect());

    let deleted = (1..=1500).filter(is_deleted);
    let deleted: Vec<EntryId> = deleted.map(|count| entry(count, "").id).collect();
    index.drop_deleted(&deleted);
    index.put(2, (1501..=2000).map(|count| read(&count)).collect());

    let left = (1..=2000).filter(|count| *count > 1500 || !is_deleted(count));
    let mut fresh = Index::default();
    fresh.put(2, left.map(|count| read(&count)).collect());
    assert_eq!((index.len(), index.bytes()), (fresh.len(), fresh.bytes()));
    assert!(index.slots.len() <= 1500, "{}", index.slots.len());
    for sentence in &sentences[..100] {
        let input = Json::of(sentence);
        let (found, expected) = (index.by_words(&input, 5), fresh.by_words(&input, 5));
        assert_eq!(found, expected);
    }
}

#[test]
fn only_an_index_that_left_older_entries_out_is_read_anew_after_many_deletions() {
    let deleted = |range: std::ops::RangeInclusive<u64>| -> Vec<EntryId> {
        range.map(|count| entry(count, "").id).collect()
    };
    let full = |leaves_out: bool| {
        let mut index = Index::default();
        if leaves_out {
            index.leave_out();
        }
        let entries = (1..=2500).map(|count| Read::new(entry(count, "x"), None));
        index.put(1, entries.collect());
        index
    };
    let (mut whole, mut part) = (full(false), full(true));

    for index in [&mut whole, &mut part] {
        index.drop_deleted(&deleted(3000..=9000));
        index.drop_deleted(&deleted(1..=2000));
        assert!(!index.is_worn());
        index.drop_deleted(&deleted(2001..=2001));
    }

    assert_eq!((whole.is_worn(), part.is_worn()), (false, true));
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
fn what_was_deleted_is_not_visited_any_more() {
    let mut index = large(2_000);
    let frequent = words(&Json::of(&"w0 w1 w2 w3"));
    let (_, before) = index.shared(&frequent);

    let deleted: Vec<EntryId> = (1..=1_900).map(|count| entry(count, "").id).collect();
    index.drop_deleted(&deleted);

    let (_, after) = index.shared(&frequent);
    let places: usize = index.places.values().map(Vec::len).sum();
    assert!(before > 1_000, "{before}");
    assert!(after <= 4 * 100 && places <= 10 * 100, "{after}, {places}");
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

    let mut index = index;
    for (name, range) in [("one", 1..=1), ("a thousand", 2..=1001)] {
        let deleted: Vec<EntryId> = range.map(|count| entry(count, "").id).collect();
        let began = std::time::Instant::now();
        index.drop_deleted(&deleted);
        println!("{name} of 10,000 dropped: {:?}", began.elapsed());
    }
}
