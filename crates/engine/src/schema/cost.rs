//! What checking a value against a schema can cost at worst, worked out from the schema alone.
//!
//! Counts evaluations of subschemas at one place of the value: those that stand in place (`allOf`, references), and
//! those that several ways from above bring to the same member. Nothing is taken off for branches that fail early,
//! since explaining a fault visits them all, and nothing for the validator's own memory, which only answers yes or no.

use domain::Invalid;

use super::{
    places::{Id, Link, Place, Places, not_taken, too_long},
    spread::{CEILING, Spread, searches},
};

/// The most evaluations that one place of a value may cost.
const MAX_EVALUATIONS: u64 = 10_000;
/// The longest chain of schemas that check the same value, one inside of the other.
const MAX_CHAIN: usize = 64;
/// The most schemas inside of each other while the deepest value is checked. One takes up to 2 KiB of a stack.
const MAX_NESTING: u64 = 1_024;
/// How many steps the searches for unevaluated members may compile into.
const MAX_MARKS: u64 = 100_000;

/// The worst case of a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cost {
    /// Evaluations of subschemas at one place of a value.
    pub(super) evaluations: u64,
    /// Faults that can be found at one place of a value.
    pub(super) faults: u64,
}

/// Works out the worst case.
///
/// # Errors
/// `json_schema` if references run in a circle without going down, or if the cost has no sensible bound.
pub(super) fn of(places: &Places) -> Result<Cost, Invalid> {
    InPlace::check(&places.all)?;
    let spread = Spread::of(places)?;
    let evaluations = spread.most(|place| place.price, MAX_EVALUATIONS)?;
    let Some(evaluations) = evaluations else {
        return Err(not_taken(
            "a member or an item would be checked more than 10,000 times, since a definition leads to it in two or \
             more ways at once; merge the alternatives that go down by the same name",
        ));
    };
    if spread.nesting(MAX_NESTING)?.is_none() {
        return Err(not_taken(
            "a recursive definition passes through too many others on its way down; shorten the chain of `$ref` and \
             `allOf`/`anyOf`/`oneOf`",
        ));
    }
    let faults = spread.most(|place| place.faults, u64::MAX)?;
    Ok(Cost {
        evaluations,
        faults: faults.unwrap_or(u64::MAX),
    })
}

/// What a place costs without going down.
#[derive(Debug, Clone, Copy, Default)]
struct Count {
    evaluations: u64,
    /// What the search for unevaluated members costs on top, if an `unevaluated…` above asks for it.
    marks: u64,
    chain: usize,
}

struct InPlace<'a> {
    places: &'a [Place],
    counts: Vec<Count>,
    states: Vec<State>,
    marks: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    Open,
    Done,
}

impl<'a> InPlace<'a> {
    fn check(places: &'a [Place]) -> Result<(), Invalid> {
        let mut counting = Self {
            places,
            counts: vec![Count::default(); places.len()],
            states: vec![State::New; places.len()],
            marks: 0,
        };
        for id in 0..places.len() {
            counting.settle(id, 1)?;
        }
        Ok(())
    }

    fn settle(&mut self, id: Id, chain: usize) -> Result<(), Invalid> {
        match self.states[id] {
            State::Done => return Ok(()),
            State::Open => {
                return Err(not_taken(
                    "references run in a circle without going down into a member or an item",
                ));
            }
            State::New if chain > MAX_CHAIN => return Err(long_chain()),
            State::New => self.states[id] = State::Open,
        }
        let place = &self.places[id];
        let mut count = Count {
            evaluations: place.price,
            marks: place.price,
            chain: 1,
        };
        for &(link, to) in &place.links {
            self.settle(to, chain + 1)?;
            let inner = self.counts[to];
            count.evaluations += inner.evaluations;
            count.marks += match link {
                Link::Branch => inner.evaluations + inner.marks,
                Link::Reference => inner.marks,
                Link::Negation => 0,
            };
            count.chain = count.chain.max(inner.chain + 1);
        }
        let searches = searches(place);
        self.marks += count.marks * searches;
        count.evaluations += count.marks * searches;
        if count.chain > MAX_CHAIN {
            return Err(long_chain());
        }
        if count.evaluations > MAX_EVALUATIONS || self.marks > MAX_MARKS {
            return Err(not_taken(
                "alternatives multiply: one value would be checked more than 10,000 times; let fewer of \
                 `allOf`/`anyOf`/`oneOf`/`if` refer to each other",
            ));
        }
        count.marks = count.marks.min(CEILING);
        self.counts[id] = count;
        self.states[id] = State::Done;
        Ok(())
    }
}

fn long_chain() -> Invalid {
    too_long(format!(
        "at most {MAX_CHAIN} schemas check the same value one inside of the other"
    ))
}
