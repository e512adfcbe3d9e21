//! The ladder: on which rung a model is asked for a value (`interface.md` 15.3).
//!
//! Every model starts on the firmest rung that its dialect has. A rung that the host refuses is not tried again for
//! an hour; one whose promise the model breaks twice in a row is left for ten minutes.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use domain::Rung;
use moka::{policy::EvictionPolicy, sync::Cache};
use tokio::time::Instant;

use crate::line::Line;

/// So many lines are remembered; the ones least recently used start from the top again.
const MOST_ENTRIES: u64 = 10_000;
const REFUSAL_LASTS: Duration = Duration::from_hours(1);
const DEMOTION_LASTS: Duration = Duration::from_mins(10);
const BREAKS_THAT_DEMOTE: u8 = 2;

/// The rung to ask on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chosen {
    /// The firmest that is left.
    pub(crate) rung: Rung,
    /// Why it is not the firmest of all, for the span's `meta`.
    pub(crate) why: Option<String>,
}

/// What is remembered of each line.
pub(crate) struct Ladder {
    lines: Cache<Line, Arc<Mutex<[Memory; 4]>>>,
}

/// What is remembered of a rung.
#[derive(Debug, Clone, Copy, Default)]
struct Memory {
    refused_until: Option<Instant>,
    demoted_until: Option<Instant>,
    breaks_in_a_row: u8,
}

impl Ladder {
    /// Nothing is remembered.
    pub(crate) fn new() -> Self {
        let lines = Cache::builder()
            .max_capacity(MOST_ENTRIES)
            // Nothing lives longer than its longest memory, which itself is timed by the runtime's clock.
            .time_to_idle(REFUSAL_LASTS)
            .eviction_policy(EvictionPolicy::lru())
            .build();
        Self { lines }
    }

    /// The firmest of `rungs` that has no `obstacle`, and was neither refused nor left; the last is always possible.
    pub(crate) fn rung(
        &self,
        line: &Line,
        rungs: &'static [Rung],
        obstacle: impl Fn(Rung) -> Option<&'static str>,
    ) -> Chosen {
        let Some((&last, above)) = rungs.split_last() else {
            return Chosen {
                rung: Rung::Prompt,
                why: None,
            };
        };
        let memories = self.lines.get(line).map(|memories| {
            let memories = memories.lock().unwrap_or_else(PoisonError::into_inner);
            *memories
        });
        let now = Instant::now();
        let (mut rung, mut reasons) = (last, Vec::new());
        for &firmer in above {
            let memory = memories.map_or_else(Memory::default, |memories| memories[place(firmer)]);
            let Some(reason) = obstacle(firmer).or_else(|| memory.reason(now)) else {
                rung = firmer;
                break;
            };
            reasons.push(format!("{} {reason}", name(firmer)));
        }
        let why = (!reasons.is_empty()).then(|| reasons.join("; "));
        Chosen { rung, why }
    }

    /// The host refused the rung.
    pub(crate) fn refused(&self, line: &Line, rung: Rung) {
        self.change(line, rung, |memory| {
            memory.refused_until = Some(Instant::now() + REFUSAL_LASTS);
        });
    }

    /// The model broke the rung's promise: its answer misses the schema, or is no JSON.
    pub(crate) fn broke(&self, line: &Line, rung: Rung) {
        self.change(line, rung, |memory| {
            memory.breaks_in_a_row += 1;
            if memory.breaks_in_a_row >= BREAKS_THAT_DEMOTE {
                memory.breaks_in_a_row = 0;
                memory.demoted_until = Some(Instant::now() + DEMOTION_LASTS);
            }
        });
    }

    /// The model kept the rung's promise.
    pub(crate) fn kept(&self, line: &Line, rung: Rung) {
        if self.lines.contains_key(line) {
            self.change(line, rung, |memory| memory.breaks_in_a_row = 0);
        }
    }

    fn change(&self, line: &Line, rung: Rung, change: impl FnOnce(&mut Memory)) {
        let memories = self.lines.get_with_by_ref(line, Arc::default);
        let mut memories = memories.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut memories[place(rung)]);
    }
}

impl Memory {
    /// Why the rung is not to be used now.
    fn reason(&self, now: Instant) -> Option<&'static str> {
        let holds = |until: Option<Instant>| until.is_some_and(|until| now < until);
        if holds(self.refused_until) {
            Some("was refused by the host")
        } else if holds(self.demoted_until) {
            Some("was not kept to twice in a row")
        } else {
            None
        }
    }
}

const fn place(rung: Rung) -> usize {
    match rung {
        Rung::NativeSchema => 0,
        Rung::ForcedTool => 1,
        Rung::JsonMode => 2,
        Rung::Prompt => 3,
    }
}

/// The rung as spans spell it.
const fn name(rung: Rung) -> &'static str {
    match rung {
        Rung::NativeSchema => "native_schema",
        Rung::ForcedTool => "forced_tool",
        Rung::JsonMode => "json_mode",
        Rung::Prompt => "prompt",
    }
}

#[cfg(test)]
mod tests {
    use domain::ProjectId;
    use tokio::time::advance;

    use super::*;

    const RUNGS: &[Rung] = &[Rung::NativeSchema, Rung::ForcedTool, Rung::JsonMode];

    fn line(project: &str) -> Line {
        Line {
            project: ProjectId::parse(project).unwrap(),
            origin: "https://host".to_owned(),
            account: "host".to_owned(),
            model: "one".to_owned(),
        }
    }

    /// The rung where nothing stands against any.
    fn rung(ladder: &Ladder, line: &Line, rungs: &'static [Rung]) -> Chosen {
        ladder.rung(line, rungs, |_| None)
    }

    fn ours() -> Line {
        line("00000000-0000-7000-8000-000000000001")
    }

    fn chosen(rung: Rung, why: &str) -> Chosen {
        Chosen {
            rung,
            why: (!why.is_empty()).then(|| why.to_owned()),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_model_starts_on_the_firmest_rung() {
        let ladder = Ladder::new();

        assert_eq!(
            rung(&ladder, &ours(), RUNGS),
            chosen(Rung::NativeSchema, "")
        );
        assert_eq!(
            rung(&ladder, &ours(), &RUNGS[2..]),
            chosen(Rung::JsonMode, "")
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_refused_rung_is_left_for_an_hour() {
        let ladder = Ladder::new();

        ladder.refused(&ours(), Rung::NativeSchema);

        let lower = chosen(Rung::ForcedTool, "native_schema was refused by the host");
        assert_eq!(rung(&ladder, &ours(), RUNGS), lower);
        advance(Duration::from_secs(3599)).await;
        assert_eq!(rung(&ladder, &ours(), RUNGS), lower);
        advance(Duration::from_secs(1)).await;
        assert_eq!(
            rung(&ladder, &ours(), RUNGS),
            chosen(Rung::NativeSchema, "")
        );
    }

    #[tokio::test(start_paused = true)]
    async fn another_refusal_begins_the_hour_anew() {
        let ladder = Ladder::new();
        ladder.refused(&ours(), Rung::NativeSchema);
        advance(Duration::from_mins(50)).await;

        ladder.refused(&ours(), Rung::NativeSchema);

        advance(Duration::from_mins(50)).await;
        assert_eq!(rung(&ladder, &ours(), RUNGS).rung, Rung::ForcedTool);
    }

    #[tokio::test(start_paused = true)]
    async fn two_breaks_in_a_row_move_a_model_one_rung_down_for_ten_minutes() {
        let ladder = Ladder::new();

        ladder.broke(&ours(), Rung::NativeSchema);
        assert_eq!(rung(&ladder, &ours(), RUNGS).rung, Rung::NativeSchema);
        ladder.broke(&ours(), Rung::NativeSchema);

        let why = "native_schema was not kept to twice in a row";
        assert_eq!(rung(&ladder, &ours(), RUNGS), chosen(Rung::ForcedTool, why));
        advance(Duration::from_secs(599)).await;
        assert_eq!(rung(&ladder, &ours(), RUNGS), chosen(Rung::ForcedTool, why));
        advance(Duration::from_secs(1)).await;
        assert_eq!(
            rung(&ladder, &ours(), RUNGS),
            chosen(Rung::NativeSchema, "")
        );
        ladder.broke(&ours(), Rung::NativeSchema);
        assert_eq!(rung(&ladder, &ours(), RUNGS).rung, Rung::NativeSchema);
    }

    #[tokio::test(start_paused = true)]
    async fn a_kept_promise_between_two_breaks_forgives_the_first() {
        let ladder = Ladder::new();

        ladder.broke(&ours(), Rung::NativeSchema);
        ladder.kept(&ours(), Rung::NativeSchema);
        ladder.broke(&ours(), Rung::NativeSchema);

        assert_eq!(
            rung(&ladder, &ours(), RUNGS),
            chosen(Rung::NativeSchema, "")
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_break_on_one_rung_says_nothing_of_another() {
        let ladder = Ladder::new();

        ladder.broke(&ours(), Rung::NativeSchema);
        ladder.broke(&ours(), Rung::ForcedTool);

        assert_eq!(
            rung(&ladder, &ours(), RUNGS),
            chosen(Rung::NativeSchema, "")
        );
    }

    #[tokio::test(start_paused = true)]
    async fn the_last_rung_is_always_possible() {
        let ladder = Ladder::new();

        for rung in [Rung::NativeSchema, Rung::JsonMode] {
            ladder.refused(&ours(), rung);
        }
        ladder.broke(&ours(), Rung::ForcedTool);
        ladder.broke(&ours(), Rung::ForcedTool);

        let why =
            "native_schema was refused by the host; forced_tool was not kept to twice in a row";
        assert_eq!(rung(&ladder, &ours(), RUNGS), chosen(Rung::JsonMode, why));
        assert_eq!(rung(&ladder, &ours(), &[]), chosen(Rung::Prompt, ""));
    }

    #[tokio::test(start_paused = true)]
    async fn a_rung_with_an_obstacle_is_passed_over() {
        let ladder = Ladder::new();
        let obstacle = |rung| (rung <= Rung::ForcedTool).then_some("has no place here");

        let lower = ladder.rung(&ours(), RUNGS, obstacle);

        let why = "native_schema has no place here; forced_tool has no place here";
        assert_eq!(lower, chosen(Rung::JsonMode, why));
    }

    #[tokio::test(start_paused = true)]
    async fn one_project_s_refusal_says_nothing_to_another() {
        let ladder = Ladder::new();
        let theirs = line("00000000-0000-7000-8000-000000000002");

        ladder.refused(&theirs, Rung::NativeSchema);

        assert_eq!(
            rung(&ladder, &ours(), RUNGS),
            chosen(Rung::NativeSchema, "")
        );
        assert_eq!(rung(&ladder, &theirs, RUNGS).rung, Rung::ForcedTool);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_remembered_is_bounded() {
        let ladder = Ladder::new();

        for model in 0..MOST_ENTRIES + 500 {
            let model = model.to_string();
            ladder.refused(&Line { model, ..ours() }, Rung::NativeSchema);
        }

        ladder.lines.run_pending_tasks();
        assert!(ladder.lines.entry_count() <= MOST_ENTRIES);
    }
}
