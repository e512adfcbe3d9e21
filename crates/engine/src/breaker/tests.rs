//! The breakers against a naive model, and each rule by itself.

use std::collections::VecDeque;

use domain::ProjectId;
use proptest::prelude::*;
use tokio::time::advance;
use uuid::Uuid;

use super::*;

const BROKEN: ProviderErrorKind = ProviderErrorKind::Overloaded;

/// The same chance always.
struct Chance(u16);

impl Ids for Chance {
    fn next(&self) -> Uuid {
        Uuid::from_u128(u128::from(self.0))
    }
}

fn breakers(chance: u16) -> Breakers {
    Breakers::new(usize::MAX, Arc::new(Chance(chance)))
}

fn line(model: &str) -> Line {
    Line {
        project: ProjectId::from(Uuid::from_u128(1)),
        origin: "https://host".to_owned(),
        account: "host".to_owned(),
        model: model.to_owned(),
    }
}

/// A failure that a host told.
fn of_host(kind: ProviderErrorKind, retry_after: Option<Duration>) -> ProviderError {
    ProviderError {
        status: Some(400),
        retry_after,
        ..ProviderError::new(kind, "no")
    }
}

fn fail(breakers: &Breakers, times: usize) {
    for _ in 0..times {
        let pass = breakers.admit(&line("one")).ok().unwrap();
        pass.failed(&of_host(BROKEN, None));
    }
}

fn refusal(breakers: &Breakers) -> Option<Refused> {
    breakers.admit(&line("one")).err()
}

async fn seconds(seconds: f64) {
    advance(Duration::from_secs_f64(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn five_failures_in_a_row_open_it_for_five_seconds() {
    let breakers = breakers(0);

    fail(&breakers, 4);
    assert_eq!(refusal(&breakers), None);
    fail(&breakers, 1);

    assert_eq!(refusal(&breakers), Some(Refused::Open));
    assert!(breakers.admit(&line("another")).is_ok());
    // The least chance: a fifth less than five.
    seconds(3.999).await;
    assert_eq!(refusal(&breakers), Some(Refused::Open));
    seconds(0.001).await;
    assert_eq!(refusal(&breakers), None);
}

#[tokio::test]
async fn a_line_has_room_for_so_many_attempts_whatever_becomes_of_them() {
    let breakers = Breakers::new(2, Arc::new(Chance(0)));
    let admit = || breakers.admit(&line("one"));
    let first = admit().ok().unwrap();
    let second = admit().ok().unwrap();

    assert_eq!(refusal(&breakers), Some(Refused::Full));
    assert!(breakers.admit(&line("another")).is_ok());
    first.failed(&of_host(BROKEN, None));
    let third = admit().ok().unwrap();
    assert_eq!(refusal(&breakers), Some(Refused::Full));
    second.succeeded();
    drop(third);

    // Each is over before the next.
    assert!((0..3).all(|_| admit().is_ok()));
    let both = (admit().ok(), admit().ok());
    assert!(both.0.is_some() && both.1.is_some());
    assert_eq!(refusal(&breakers), Some(Refused::Full));
}

#[tokio::test(start_paused = true)]
async fn another_project_has_a_breaker_of_its_own() {
    let breakers = breakers(0);
    let theirs = Line {
        project: ProjectId::from(Uuid::from_u128(2)),
        ..line("one")
    };

    fail(&breakers, 5);

    assert!(breakers.admit(&theirs).is_ok());
}

#[tokio::test(start_paused = true)]
async fn the_pause_doubles_up_to_a_minute() {
    for (chance, pauses) in [
        (0, [4.0, 8.0, 16.0, 32.0, 48.0, 48.0]),
        (u16::MAX, [6.0, 12.0, 24.0, 48.0, 60.0, 60.0]),
    ] {
        let breakers = breakers(chance);
        fail(&breakers, 5);

        for pause in pauses {
            seconds(pause - 0.001).await;
            assert_eq!(refusal(&breakers), Some(Refused::Open), "{chance} {pause}");
            seconds(0.001).await;
            fail(&breakers, 1);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn one_probe_at_a_time_and_its_success_closes() {
    let breakers = breakers(0);
    fail(&breakers, 5);
    seconds(5.0).await;

    let probe = breakers.admit(&line("one")).ok().unwrap();
    assert_eq!(refusal(&breakers), Some(Refused::Open));
    probe.succeeded();

    fail(&breakers, 4);
    assert_eq!(refusal(&breakers), None);
    fail(&breakers, 1);
    seconds(4.0).await;
    assert_eq!(refusal(&breakers), None, "the pause starts small again");
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_probe_frees_its_place_and_counts_as_nothing() {
    let breakers = breakers(0);
    fail(&breakers, 5);
    seconds(5.0).await;

    drop(breakers.admit(&line("one")));

    let probe = breakers.admit(&line("one")).ok().unwrap();
    assert_eq!(refusal(&breakers), Some(Refused::Open));
    drop(probe);
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_is_refused_found_somebody_at_home() {
    let breakers = breakers(0);
    fail(&breakers, 5);
    seconds(5.0).await;

    let probe = breakers.admit(&line("one")).ok().unwrap();
    probe.failed(&of_host(ProviderErrorKind::Invalid, None));

    let passes = [(); 3].map(|()| breakers.admit(&line("one")));
    assert!(passes.iter().all(Result::is_ok));
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_never_left_says_nothing() {
    let breakers = breakers(0);
    fail(&breakers, 5);
    seconds(5.0).await;

    // An image that could not be fetched, an option that cannot be worded, a setting that is missing.
    for kind in [
        ProviderErrorKind::Invalid,
        ProviderErrorKind::RefusedAddress,
        ProviderErrorKind::Misconfigured,
    ] {
        let probe = breakers.admit(&line("one")).ok().unwrap();
        probe.failed(&ProviderError::new(kind, "no"));
    }

    let passes = [(); 2].map(|()| breakers.admit(&line("one")));
    assert!(passes[0].is_ok() && passes[1].is_err());
}

#[tokio::test(start_paused = true)]
async fn attempts_from_before_the_opening_neither_close_nor_lengthen_it() {
    let breakers = breakers(0);
    let [sound, broken, dropped] = [(); 3].map(|()| breakers.admit(&line("one")).ok().unwrap());
    fail(&breakers, 5);

    sound.succeeded();
    broken.failed(&of_host(BROKEN, None));
    assert_eq!(refusal(&breakers), Some(Refused::Open));
    seconds(4.0).await;

    let probe = breakers.admit(&line("one")).ok().unwrap();
    drop(dropped);
    assert_eq!(refusal(&breakers), Some(Refused::Open));
    drop(probe);
}

#[tokio::test(start_paused = true)]
async fn half_of_twenty_in_ten_seconds_open_it() {
    let breakers = breakers(0);

    for _ in 0..10 {
        assert_eq!(refusal(&breakers), None);
        breakers.admit(&line("one")).ok().unwrap().succeeded();
        fail(&breakers, 1);
    }

    assert_eq!(refusal(&breakers), Some(Refused::Open));
}

#[tokio::test(start_paused = true)]
async fn half_of_twenty_in_more_than_ten_seconds_do_not() {
    let breakers = breakers(0);

    for _ in 0..20 {
        breakers.admit(&line("one")).ok().unwrap().succeeded();
        fail(&breakers, 1);
        seconds(1.3).await;
    }

    assert_eq!(refusal(&breakers), None);
}

#[tokio::test(start_paused = true)]
async fn only_failures_of_the_model_count() {
    use ProviderErrorKind as Kind;
    let counting = [
        Kind::Connection,
        Kind::Timeout,
        Kind::Overloaded,
        Kind::Failed,
        Kind::Protocol,
    ];
    let others = [
        Kind::RateLimited,
        Kind::Auth,
        Kind::UnknownModel,
        Kind::Invalid,
        Kind::ContentPolicy,
        Kind::ContextWindow,
        Kind::Demand,
        Kind::RefusedAddress,
        Kind::Misconfigured,
    ];

    let opened_by = |kind| {
        let breakers = breakers(0);
        for _ in 0..30 {
            if let Ok(pass) = breakers.admit(&line("one")) {
                pass.failed(&of_host(kind, None));
            }
        }
        refusal(&breakers) == Some(Refused::Open)
    };

    assert!(counting.into_iter().all(opened_by));
    assert!(!others.into_iter().any(opened_by));
}

#[tokio::test(start_paused = true)]
async fn a_long_wait_rests_the_model_for_this_project() {
    let breakers = breakers(0);
    let limited = |seconds| {
        let pass = breakers.admit(&line("one")).ok().unwrap();
        pass.failed(&of_host(
            ProviderErrorKind::RateLimited,
            Some(Duration::from_secs(seconds)),
        ));
    };
    let resting = |seconds| {
        let wait = Duration::from_secs(seconds);
        Some(Refused::Resting { wait })
    };

    limited(5);
    assert_eq!(refusal(&breakers), None);
    limited(6);
    assert_eq!(refusal(&breakers), resting(6));
    seconds(4.0).await;
    assert_eq!(refusal(&breakers), resting(2));
    seconds(2.0).await;
    assert_eq!(refusal(&breakers), None);
    limited(3600);
    assert_eq!(refusal(&breakers), resting(60));
    assert!(breakers.admit(&line("another")).is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_wait_named_by_another_failure_rests_nobody() {
    let breakers = breakers(0);

    let pass = breakers.admit(&line("one")).ok().unwrap();
    pass.failed(&of_host(
        ProviderErrorKind::Overloaded,
        Some(Duration::from_mins(1)),
    ));

    assert_eq!(refusal(&breakers), None);
}

#[tokio::test(start_paused = true)]
async fn retries_are_a_fifth_of_the_calls_and_three_a_second() {
    let breakers = breakers(0);
    let granted = || {
        (0..1000)
            .filter(|_| breakers.may_retry("https://host"))
            .count()
    };

    assert_eq!(granted(), 30);
    for _ in 0..100 {
        breakers.note_call("https://host");
    }
    assert_eq!(granted(), 20);
    assert!(breakers.may_retry("https://other"));
    seconds(9.0).await;
    assert_eq!(granted(), 0);
    seconds(1.0).await;
    assert_eq!(granted(), 30);
}

#[tokio::test(start_paused = true)]
async fn what_is_remembered_is_bounded() {
    let breakers = breakers(0);

    for model in 0..MOST_ENTRIES + 500 {
        drop(breakers.admit(&line(&model.to_string())));
        breakers.note_call(&model.to_string());
    }

    breakers.lines.run_pending_tasks();
    breakers.budgets.run_pending_tasks();
    assert!(breakers.lines.entry_count() <= MOST_ENTRIES);
    assert!(breakers.budgets.entry_count() <= MOST_ENTRIES);
}

#[derive(Debug, Clone)]
enum Step {
    Admit,
    Succeed(usize),
    Fail(usize),
    Refuse(usize),
    Limit(usize, u64),
    Leave(usize),
    Wait(u64),
    Call,
    Retry,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => Just(Step::Admit),
        3 => any::<usize>().prop_map(Step::Succeed),
        5 => any::<usize>().prop_map(Step::Fail),
        1 => any::<usize>().prop_map(Step::Refuse),
        1 => (any::<usize>(), 0..90_u64).prop_map(|(pass, wait)| Step::Limit(pass, wait)),
        1 => any::<usize>().prop_map(Step::Leave),
        2 => prop_oneof![0..1500_u64, 0..20_000_u64].prop_map(Step::Wait),
        2 => Just(Step::Call),
        3 => Just(Step::Retry),
    ];
    proptest::collection::vec(step, 1..400)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    None,
    Succeeded,
    Failed,
    Refused,
}

/// The rules told without thrift: everything is kept, and looked through each time. Times are milliseconds.
#[derive(Default)]
struct Naive {
    now: u64,
    /// Second and success of what ended since the breaker closed.
    ended: Vec<(u64, bool)>,
    opened: Option<(u64, u64)>,
    probe: Option<usize>,
    /// Attempts that still may change something.
    live: Vec<usize>,
    rests_until: u64,
    calls: Vec<u64>,
    retries: Vec<u64>,
}

impl Naive {
    fn admit(&mut self, attempt: usize) -> Option<Refused> {
        if self.now < self.rests_until {
            let wait = Duration::from_millis(self.rests_until - self.now);
            return Some(Refused::Resting { wait });
        }
        if let Some((until, _)) = self.opened {
            if self.now < until || self.probe.is_some() {
                return Some(Refused::Open);
            }
            self.probe = Some(attempt);
        }
        self.live.push(attempt);
        None
    }

    fn ended(&mut self, attempt: usize, verdict: Verdict) {
        let is_live = self.live.contains(&attempt);
        self.live.retain(|live| *live != attempt);
        if !is_live {
            return;
        }
        if self.probe == Some(attempt) {
            self.probe = None;
            match verdict {
                Verdict::None => {}
                Verdict::Failed => {
                    let (_, pause) = self.opened.unwrap();
                    self.open((pause * 2).min(60_000));
                }
                Verdict::Succeeded | Verdict::Refused => {
                    self.opened = None;
                    self.ended.clear();
                }
            }
        } else if matches!(verdict, Verdict::Succeeded | Verdict::Failed) {
            let is_sound = verdict == Verdict::Succeeded;
            self.ended.push((self.now / 1000, is_sound));
            let in_a_row = self
                .ended
                .iter()
                .rev()
                .take_while(|(_, is_sound)| !is_sound);
            let lately = self
                .ended
                .iter()
                .filter(|(at, _)| at + 10 > self.now / 1000);
            let failed = lately.clone().filter(|(_, is_sound)| !is_sound).count();
            let most_failed = lately.clone().count() >= 20 && failed * 2 >= lately.count();
            if !is_sound && (in_a_row.count() >= 5 || most_failed) {
                self.open(5000);
            }
        }
    }

    fn open(&mut self, pause: u64) {
        self.opened = Some((self.now + pause * 4 / 5, pause));
        self.ended.clear();
        self.live.clear();
    }

    fn may_retry(&mut self) -> bool {
        let lately = |times: &[u64]| {
            let lately = times.iter().filter(|at| **at / 1000 + 10 > self.now / 1000);
            lately.count()
        };
        let fits = 10 * (lately(&self.retries) + 1) <= 2 * lately(&self.calls) + 300;
        if fits {
            self.retries.push(self.now);
        }
        fits
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn the_breakers_do_as_the_naive_model_does(steps in steps()) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();

        runtime.block_on(play(steps));
    }
}

async fn play(steps: Vec<Step>) {
    let (breakers, mut naive) = (breakers(0), Naive::default());
    let mut passes: VecDeque<(usize, Pass)> = VecDeque::new();
    for (at, step) in steps.into_iter().enumerate() {
        let mut take = |pass: usize| {
            let pass = pass.checked_rem(passes.len())?;
            passes.remove(pass)
        };
        match step {
            Step::Admit => {
                let admitted = breakers.admit(&line("one"));
                assert_eq!(
                    admitted.as_ref().err().copied(),
                    naive.admit(at),
                    "step {at}"
                );
                passes.extend(admitted.ok().map(|pass| (at, pass)));
            }
            Step::Succeed(pass) => {
                let Some((attempt, pass)) = take(pass) else {
                    continue;
                };
                pass.succeeded();
                naive.ended(attempt, Verdict::Succeeded);
            }
            Step::Fail(pass) => {
                let Some((attempt, pass)) = take(pass) else {
                    continue;
                };
                pass.failed(&of_host(BROKEN, None));
                naive.ended(attempt, Verdict::Failed);
            }
            Step::Refuse(pass) => {
                let Some((attempt, pass)) = take(pass) else {
                    continue;
                };
                pass.failed(&of_host(ProviderErrorKind::Auth, None));
                naive.ended(attempt, Verdict::Refused);
            }
            Step::Limit(pass, wait) => {
                let Some((attempt, pass)) = take(pass) else {
                    continue;
                };
                pass.failed(&of_host(
                    ProviderErrorKind::RateLimited,
                    Some(Duration::from_secs(wait)),
                ));
                if wait > 5 {
                    naive.rests_until = naive.rests_until.max(naive.now + wait.min(60) * 1000);
                }
                naive.ended(attempt, Verdict::Refused);
            }
            Step::Leave(pass) => {
                let Some((attempt, pass)) = take(pass) else {
                    continue;
                };
                drop(pass);
                naive.ended(attempt, Verdict::None);
            }
            Step::Wait(millis) => {
                advance(Duration::from_millis(millis)).await;
                naive.now += millis;
            }
            Step::Call => {
                breakers.note_call("https://host");
                naive.calls.push(naive.now);
            }
            Step::Retry => {
                assert_eq!(
                    breakers.may_retry("https://host"),
                    naive.may_retry(),
                    "step {at}"
                );
            }
        }
    }
}
