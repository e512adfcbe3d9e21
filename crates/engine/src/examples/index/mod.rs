//! One dataset in memory: its entries, which words stand in which, and their vectors.

#[cfg(test)]
mod tests;
mod vector;

use std::{
    cmp::Ordering,
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use domain::{Entry, EntryId, Json, Timestamp};
use indexmap::IndexSet;

use super::words::words;

pub(super) use self::vector::has_direction;
use self::vector::{dot, unit};

/// How many entries are kept, the newest.
pub(super) const MAX_ENTRIES: usize = 20_000;
/// How many bytes they take at most, roughly.
pub(super) const MAX_BYTES: usize = 64 * 1024 * 1024;
/// How many words of an input count, the rarest.
const MAX_TERMS: usize = 128;
/// How many places of words are visited for one input.
const MAX_PLACES: usize = 1_000_000;
/// Of what is kept at most, which part may be gone before it is read anew.
const WORN_PART: usize = 10;
/// What an entry takes beside its texts, and each of its words.
const BARE_BYTES: usize = 512;
const BYTES_PER_PLACE: usize = 8;
/// What a word takes that stands in any entry, beside its places.
const BYTES_PER_WORD: usize = 128;

/// The entries of a dataset that can be chosen.
#[derive(Default)]
pub(super) struct Index {
    /// The dataset's version that this shows.
    pub(super) version: i64,
    slots: Vec<Option<Slot>>,
    free: Vec<u32>,
    by_id: HashMap<EntryId, u32>,
    by_age: BTreeMap<(Timestamp, EntryId), u32>,
    /// The slots that hold a word, in ascending order.
    places: HashMap<Box<str>, Vec<u32>>,
    bytes: usize,
    lacking: usize,
    /// Whether older entries had to be left out, which would have room again when others are gone.
    leaves_out: bool,
    gone: Gone,
}

/// What was deleted since the index was made.
#[derive(Default)]
struct Gone {
    entries: usize,
    bytes: usize,
}

struct Slot {
    entry: Arc<Entry>,
    bytes: usize,
    word_count: u32,
    vector: Option<Vec<f32>>,
}

/// An entry that was looked through, ready to be put in.
pub(super) struct Read {
    entry: Arc<Entry>,
    words: IndexSet<Box<str>>,
    vector: Option<Vec<f32>>,
}

impl Read {
    /// Looks an entry through.
    pub(super) fn new(entry: Entry, vector: Option<Vec<f32>>) -> Self {
        Self {
            words: words(&entry.input),
            entry: Arc::new(entry),
            vector: vector.and_then(unit),
        }
    }
}

impl Index {
    pub(super) fn len(&self) -> usize {
        self.by_id.len()
    }

    /// What it takes, roughly.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// How many entries have no vector.
    pub(super) fn lacking(&self) -> usize {
        self.lacking
    }

    /// Whether so much was deleted that older entries, which were left out, should be read.
    pub(super) fn is_worn(&self) -> bool {
        let is_worn = self.gone.entries > MAX_ENTRIES / WORN_PART;
        self.leaves_out && (is_worn || self.gone.bytes > MAX_BYTES / WORN_PART)
    }

    /// Older entries were not even read.
    pub(super) fn leave_out(&mut self) {
        self.leaves_out = true;
    }

    /// Drops entries. What was never known, or is dropped already, is no matter.
    pub(super) fn drop_deleted(&mut self, ids: &[EntryId]) {
        let (entries, bytes) = (self.len(), self.bytes);
        for id in ids {
            self.remove(*id);
        }
        self.gone.entries += entries - self.len();
        self.gone.bytes += bytes - self.bytes;
    }

    /// Puts entries in, each in the place of its older self.
    pub(super) fn put(&mut self, version: i64, entries: Vec<Read>) {
        for read in entries {
            self.remove(read.entry.id);
            self.insert(read);
        }
        self.version = version;
        self.trim();
    }

    /// Some of the entries that have no vector, the newest first.
    pub(super) fn without_vector(&self, limit: usize) -> Vec<Arc<Entry>> {
        let newest_first = self.by_age.values().rev().filter_map(|at| self.slot(*at));
        newest_first
            .filter(|slot| slot.vector.is_none())
            .map(|slot| slot.entry.clone())
            .take(limit)
            .collect()
    }

    /// Keeps vectors of inputs. What has another input by now gets none.
    pub(super) fn put_vectors(&mut self, vectors: Vec<(Entry, Vec<f32>)>) {
        for (entry, vector) in vectors {
            let at = self.by_id.get(&entry.id).copied();
            let slot = at.and_then(|at| self.slots[at as usize].as_mut());
            let (Some(slot), Some(vector)) = (slot, unit(vector)) else {
                continue;
            };
            if slot.entry.input == entry.input && slot.vector.is_none() {
                let bytes = size_of_val(vector.as_slice());
                slot.bytes += bytes;
                slot.vector = Some(vector);
                self.bytes += bytes;
                self.lacking -= 1;
            }
        }
        self.trim();
    }

    /// Forgets vectors of another length: the model that they are from has changed.
    pub(super) fn forget_vectors_unlike(&mut self, length: usize) {
        for slot in self.slots.iter_mut().flatten() {
            if let Some(vector) = slot.vector.take_if(|vector| vector.len() != length) {
                let bytes = size_of_val(vector.as_slice());
                slot.bytes -= bytes;
                self.bytes -= bytes;
                self.lacking += 1;
            }
        }
    }

    /// The `count` entries that share the rarest words with an input, the nearest first.
    pub(super) fn by_words(&self, input: &Json, count: usize) -> Vec<Arc<Entry>> {
        let (shared, _) = self.shared(&words(input));
        self.best(count, |at, slot| {
            // Long entries hold more words, not more likeness.
            shared[at] / f64::from(slot.word_count.max(1)).sqrt()
        })
    }

    /// The `count` entries nearest to a vector, the nearest first; `None` if an entry has no vector of its length.
    pub(super) fn by_vector(&self, vector: Vec<f32>, count: usize) -> Option<Vec<Arc<Entry>>> {
        let vector = unit(vector)?;
        let fits = |slot: &Slot| {
            let own = slot.vector.as_ref();
            own.is_some_and(|own| own.len() == vector.len())
        };
        if !self.slots.iter().flatten().all(fits) {
            return None;
        }
        Some(self.best(count, |_, slot| {
            let own = slot.vector.as_deref().unwrap_or_default();
            f64::from(dot(&vector, own))
        }))
    }

    /// How much each slot shares with the words: the sum of their rarities; and how many places were visited for it.
    fn shared(&self, words: &IndexSet<Box<str>>) -> (Vec<f64>, usize) {
        let known = words
            .iter()
            .filter_map(|word| self.places.get_key_value(word));
        let mut terms: Vec<_> = known
            .map(|(word, places)| (places.len(), &**word, places))
            .collect();
        let rarest_first = |one: &(usize, &str, &Vec<u32>), other: &(_, _, _)| {
            (one.0, one.1).cmp(&(other.0, other.1))
        };
        if terms.len() > MAX_TERMS {
            terms.select_nth_unstable_by(MAX_TERMS, rarest_first);
            terms.truncate(MAX_TERMS);
        }
        terms.sort_unstable_by(rarest_first);
        let (mut shared, mut visited) = (vec![0.0; self.slots.len()], 0);
        for (count, _, places) in terms {
            visited += count;
            if visited > MAX_PLACES {
                break;
            }
            let rarity = (float(self.len() + 1) / float(count)).ln();
            for at in places {
                shared[*at as usize] += rarity;
            }
        }
        (shared, visited)
    }

    /// The entries of the highest scores; of equal ones the newest.
    fn best(&self, count: usize, score: impl Fn(usize, &Slot) -> f64) -> Vec<Arc<Entry>> {
        let slots = self.slots.iter().enumerate();
        let filled = slots.filter_map(|(at, slot)| Some((at, slot.as_ref()?)));
        let mut scored: Vec<_> = filled.map(|(at, slot)| (score(at, slot), slot)).collect();
        let age = |slot: &Slot| (slot.entry.created_at, slot.entry.id);
        let best_first = |one: &(f64, &Slot), other: &(f64, &Slot)| -> Ordering {
            let by_score = other.0.total_cmp(&one.0);
            by_score.then_with(|| age(other.1).cmp(&age(one.1)))
        };
        if count < scored.len() {
            scored.select_nth_unstable_by(count, best_first);
            scored.truncate(count);
        }
        scored.sort_unstable_by(best_first);
        scored
            .into_iter()
            .map(|(_, slot)| slot.entry.clone())
            .collect()
    }

    fn slot(&self, at: u32) -> Option<&Slot> {
        self.slots[at as usize].as_ref()
    }

    fn insert(&mut self, read: Read) {
        let Read {
            entry,
            words,
            vector,
        } = read;
        let at = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            u32::try_from(self.slots.len() - 1).expect("there are few slots")
        });
        let of_vector = vector.as_deref().map_or(0, size_of_val);
        let bytes = entry_bytes(&entry) + words.len() * BYTES_PER_PLACE + of_vector;
        self.bytes += bytes;
        self.lacking += usize::from(vector.is_none());
        self.by_id.insert(entry.id, at);
        self.by_age.insert((entry.created_at, entry.id), at);
        self.slots[at as usize] = Some(Slot {
            entry,
            bytes,
            word_count: u32::try_from(words.len()).unwrap_or(u32::MAX),
            vector,
        });
        for word in words {
            let places = self.places.entry(word).or_default();
            if places.is_empty() {
                self.bytes += BYTES_PER_WORD;
            }
            let place = places.partition_point(|other| *other < at);
            places.insert(place, at);
        }
    }

    fn remove(&mut self, id: EntryId) {
        let Some(at) = self.by_id.remove(&id) else {
            return;
        };
        let Some(slot) = self.slots[at as usize].take() else {
            return;
        };
        self.free.push(at);
        self.by_age.remove(&(slot.entry.created_at, id));
        self.bytes -= slot.bytes;
        self.lacking -= usize::from(slot.vector.is_none());
        for word in words(&slot.entry.input) {
            let Some(places) = self.places.get_mut(&word) else {
                continue;
            };
            if let Ok(place) = places.binary_search(&at) {
                places.remove(place);
            }
            if places.is_empty() {
                self.places.remove(&word);
                self.bytes -= BYTES_PER_WORD;
            }
        }
    }

    /// Forgets the oldest until what is left keeps its bounds.
    fn trim(&mut self) {
        while self.len() > MAX_ENTRIES || self.bytes > MAX_BYTES {
            let Some((&(_, oldest), _)) = self.by_age.first_key_value() else {
                return;
            };
            self.remove(oldest);
            self.leaves_out = true;
        }
    }
}

/// What an entry takes in memory, its words apart.
pub(super) fn entry_bytes(entry: &Entry) -> usize {
    let expected = entry
        .expected
        .as_ref()
        .map_or(0, |value| value.text().len());
    let comment = entry.comment.as_ref().map_or(0, String::len);
    BARE_BYTES + entry.input.text().len() + entry.output.text().len() + expected + comment
}

#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
fn float(count: usize) -> f64 {
    count as f64
}
