//! How the evaluations of a schema's places spread from a value to its members and items.

use domain::Invalid;

use super::places::{Children, Id, Link, Place, Places, too_long};

/// Values come as JSON texts, which nest no deeper.
const MAX_DEPTH: usize = 128;
/// How many steps may lead from all values that a schema is checked against to their members.
const MAX_STEPS: usize = 500_000;
/// How many steps one figure may take, over all levels.
const MAX_WORK: usize = 15_000_000;
/// Keeps sums of products far from the end of 64 bits.
pub(super) const CEILING: u64 = 1 << 32;

/// One evaluation on the way through a place.
#[derive(Debug, Clone, Copy)]
struct Visit {
    id: Id,
    /// Whether it only seeks what was evaluated.
    marks: bool,
    chain: u64,
}

/// How evaluations spread from a value to its members.
pub(super) struct Spread<'a> {
    places: &'a Places,
    /// The places that a value can be handed to from above, the root first.
    entries: Vec<Id>,
    /// By place: all evaluations that one of it takes, without going down. Empty if it is no entry.
    visits: Vec<Vec<Visit>>,
    /// What one level costs this audit.
    steps: usize,
}

impl<'a> Spread<'a> {
    /// Follows a schema from its root.
    ///
    /// # Errors
    /// `too_long` if that leads to more than can be looked at.
    ///
    /// Invariant: `InPlace` counted the places, so that none leads to itself in place.
    pub(super) fn of(places: &'a Places) -> Result<Self, Invalid> {
        let mut spread = Self {
            places,
            entries: vec![0],
            visits: vec![Vec::new(); places.all.len()],
            steps: 0,
        };
        let mut is_entry = vec![false; places.all.len()];
        is_entry[0] = true;
        let mut next = 0;
        while let Some(&entry) = spread.entries.get(next) {
            next += 1;
            let mut visits = Vec::new();
            spread.enter(entry, 1, &mut visits);
            spread.steps += visits.len();
            for visit in &visits {
                for child in children(&places.all[visit.id]) {
                    spread.steps += 1;
                    if !std::mem::replace(&mut is_entry[child], true) {
                        spread.entries.push(child);
                    }
                }
            }
            if spread.steps > MAX_STEPS {
                return Err(tangled());
            }
            spread.visits[entry] = visits;
        }
        Ok(spread)
    }

    /// The most of `figure`, summed over the evaluations at one place of a value. Nothing if it is more than `limit`.
    ///
    /// # Errors
    /// `too_long` if working it out takes too long.
    pub(super) fn most(
        &self,
        figure: impl Fn(&Place) -> u64,
        limit: u64,
    ) -> Result<Option<u64>, Invalid> {
        let sum = |visits: &[Visit]| {
            let figures = visits
                .iter()
                .map(|visit| figure(&self.places.all[visit.id]));
            figures.sum()
        };
        self.worst(sum, Self::gathered, limit)
    }

    /// The most evaluations that are under way at once, one inside of the other. Nothing if it is more than `limit`.
    ///
    /// # Errors
    /// `too_long` if working it out takes too long.
    pub(super) fn nesting(&self, limit: u64) -> Result<Option<u64>, Invalid> {
        let chain = |visits: &[Visit]| visits.iter().map(|visit| visit.chain).max().unwrap_or(0);
        self.worst(chain, Self::deepest, limit)
    }

    fn enter(&self, id: Id, chain: u64, visits: &mut Vec<Visit>) {
        let marks = false;
        visits.push(Visit { id, marks, chain });
        let place = &self.places.all[id];
        for &(_, to) in &place.links {
            self.enter(to, chain + 1, visits);
        }
        for _ in 0..searches(place) {
            self.mark(id, chain + 1, visits);
        }
    }

    fn mark(&self, id: Id, chain: u64, visits: &mut Vec<Visit>) {
        let marks = true;
        visits.push(Visit { id, marks, chain });
        for &(link, to) in &self.places.all[id].links {
            if link == Link::Branch {
                self.enter(to, chain + 1, visits);
            }
            if link != Link::Negation {
                self.mark(to, chain + 1, visits);
            }
        }
    }

    /// The worst figure at any depth of a value: `first` for the value itself, `next` from the figures one level
    /// further down.
    fn worst(
        &self,
        first: impl Fn(&[Visit]) -> u64,
        next: impl Fn(&Self, &[u64], &mut Scratch, &[Visit]) -> u64,
        limit: u64,
    ) -> Result<Option<u64>, Invalid> {
        let mut scratch = Scratch::default();
        let mut now = vec![0; self.places.all.len()];
        for &entry in &self.entries {
            now[entry] = first(&self.visits[entry]).min(CEILING);
        }
        let mut worst = now[0];
        for level in 1..=MAX_DEPTH {
            if self.steps * level > MAX_WORK {
                return Err(tangled());
            }
            let mut deeper = vec![0; now.len()];
            for &entry in &self.entries {
                let figure = next(self, &now, &mut scratch, &self.visits[entry]);
                deeper[entry] = figure.min(CEILING);
            }
            worst = worst.max(deeper[0]);
            if worst > limit || deeper == now {
                break;
            }
            now = deeper;
        }
        Ok((worst <= limit).then_some(worst))
    }

    /// The most that one member gets: figures add up where several visits go down by the same name.
    fn gathered(&self, now: &[u64], scratch: &mut Scratch, visits: &[Visit]) -> u64 {
        let names = visits.iter().filter(|visit| !visit.marks);
        let names = names.filter_map(|visit| self.places.all[visit.id].names);
        let names: u64 = names.map(|id| now[id]).sum();
        let members = scratch.busiest(
            visits.iter().map(|visit| {
                let members = &self.places.all[visit.id].members;
                (visit.marks, members, Share::of_member(now, visit, members))
            }),
            now,
        );
        let items = scratch.busiest(
            visits.iter().map(|visit| {
                let items = &self.places.all[visit.id].items;
                (visit.marks, items, Share::of_item(now, visit, items))
            }),
            now,
        );
        names.max(members).max(items)
    }

    /// The longest chain into any member.
    fn deepest(&self, now: &[u64], _: &mut Scratch, visits: &[Visit]) -> u64 {
        let mut deepest = 0;
        for visit in visits {
            for child in children(&self.places.all[visit.id]) {
                if now[child] > 0 {
                    deepest = deepest.max(visit.chain + now[child]);
                }
            }
        }
        deepest
    }
}

/// How many searches for unevaluated members or items a place starts.
pub(super) fn searches(place: &Place) -> u64 {
    u64::from(place.members.unevaluated.is_some()) + u64::from(place.items.unevaluated.is_some())
}

fn tangled() -> Invalid {
    too_long("the schema's parts refer to each other too often; split it, or write it more plainly")
}

fn children(place: &Place) -> impl Iterator<Item = Id> {
    [&place.members, &place.items]
        .into_iter()
        .flat_map(|children| {
            let exact = children.exact.iter().map(|(_, id)| *id);
            let each = children.each.iter().copied();
            exact
                .chain(each)
                .chain(children.rest)
                .chain(children.unevaluated)
        })
        .chain(place.names)
}

/// What one visit adds to a member.
struct Share {
    /// To a member that it has a schema for, besides that schema's own figure.
    beside: u64,
    /// To any other member, at worst.
    other: u64,
}

impl Share {
    fn of_member(now: &[u64], visit: &Visit, members: &Children) -> Self {
        let figure = |id: Option<Id>| id.map_or(0, |id| now[id]);
        let unevaluated = figure(members.unevaluated);
        if visit.marks {
            return Self {
                beside: 0,
                other: unevaluated,
            };
        }
        let patterns = members.each.iter().map(|id| now[*id]).sum();
        // A member that a pattern meets is neither additional nor unevaluated.
        let other = figure(members.rest).max(unevaluated).max(patterns);
        Self {
            beside: patterns,
            other,
        }
    }

    fn of_item(now: &[u64], visit: &Visit, items: &Children) -> Self {
        let figure = |id: Option<Id>| id.map_or(0, |id| now[id]);
        let unevaluated = figure(items.unevaluated);
        let contains: u64 = items.each.iter().map(|id| now[*id]).sum();
        if visit.marks {
            let other = contains + unevaluated;
            return Self { beside: 0, other };
        }
        let other = contains + figure(items.rest).max(unevaluated);
        Self {
            beside: contains,
            other,
        }
    }
}

/// Sums by name or index, kept between uses so that a level costs no more than its visits.
#[derive(Default)]
struct Scratch {
    more: Vec<u64>,
    less: Vec<u64>,
    touched: Vec<usize>,
}

impl Scratch {
    fn busiest<'a>(
        &mut self,
        shares: impl Iterator<Item = (bool, &'a Children, Share)>,
        now: &[u64],
    ) -> u64 {
        let mut anywhere = 0;
        for (marks, children, share) in shares {
            anywhere += share.other;
            if marks {
                continue;
            }
            for &(name, id) in &children.exact {
                if name >= self.more.len() {
                    self.more.resize(name + 1, 0);
                    self.less.resize(name + 1, 0);
                }
                self.touched.push(name);
                self.more[name] += share.beside + now[id];
                self.less[name] += share.other;
            }
        }
        let mut busiest = anywhere;
        for name in self.touched.drain(..) {
            busiest = busiest.max(anywhere + self.more[name] - self.less[name]);
            // A name that was touched twice was counted whole the first time.
            self.more[name] = 0;
            self.less[name] = 0;
        }
        busiest
    }
}
