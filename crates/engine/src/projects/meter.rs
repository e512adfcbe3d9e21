//! How much a project uses, against what it may.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use domain::{Cost, Timestamp, Usage, Usd};
use tokio::time::Instant;

use crate::{
    error::{Code, Error},
    options::ProjectOptions,
    projects::bucket::Bucket,
};

const MICROS_A_DAY: i64 = 86_400_000_000;
/// How much the newest call counts in what the next one is expected to take.
const NEWEST: f64 = 0.125;
/// After what time a call that is only held back by others under way may be tried again.
const SOON: Duration = Duration::from_secs(1);

/// The meter of one project.
#[derive(Debug)]
pub(super) struct Meter {
    project: String,
    limits: Limits,
    running: AtomicU32,
    state: Mutex<State>,
    /// Whose turn it is to keep what was booked.
    turn: tokio::sync::Mutex<()>,
}

#[derive(Debug, Clone, Copy)]
struct Limits {
    calls_per_minute: Option<u32>,
    tokens_per_minute: Option<u32>,
    per_day: Option<Usd>,
}

#[derive(Debug)]
struct State {
    calls: Option<Bucket>,
    tokens: Option<Bucket>,
    day: Day,
    /// What a call takes, as far as can be told from the last ones.
    usual: Usual,
}

#[derive(Debug, Default)]
struct Usual {
    tokens: f64,
    nanos: f64,
}

/// What was spent on a day.
#[derive(Debug, Default, Clone, Copy)]
struct Day {
    /// Days since 1970-01-01, UTC; `None` while nothing is known of any.
    number: Option<i64>,
    spent: i64,
    /// What of it is not kept yet.
    unsaved: i64,
}

/// A call under way: what it may take is held until this is dropped.
#[derive(Debug)]
pub struct Held(Arc<Meter>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Meter {
    /// `None` for a project that may use as much as it likes.
    pub(super) fn of(project: &str, options: &ProjectOptions, now: Instant) -> Option<Self> {
        let limits = Limits {
            calls_per_minute: options.calls_per_minute,
            tokens_per_minute: options.tokens_per_minute,
            per_day: options.usd_per_day.map(usd),
        };
        let bucket = |rate: Option<u32>| rate.map(|rate| Bucket::new(rate, now));
        let is_limited = options.calls_per_minute.is_some()
            || options.tokens_per_minute.is_some()
            || options.usd_per_day.is_some();
        is_limited.then(|| Self {
            project: project.to_owned(),
            limits,
            running: AtomicU32::new(0),
            state: Mutex::new(State {
                calls: bucket(limits.calls_per_minute),
                tokens: bucket(limits.tokens_per_minute),
                day: Day::default(),
                usual: Usual::default(),
            }),
            turn: tokio::sync::Mutex::default(),
        })
    }

    /// The day whose sum has to be known before anybody can be let in; `None` if it is.
    pub(super) fn unknown_day(&self, today: Timestamp) -> Option<i64> {
        let number = day_of(today);
        (self.limits.per_day.is_some() && self.state().day.number != Some(number)).then_some(number)
    }

    /// So much is kept as spent on that day, `saved` of what was booked here among it.
    pub(super) fn is_kept(&self, number: i64, kept: Usd, saved: Usd) {
        let day = &mut self.state().day;
        if day.number == Some(number) {
            day.unsaved -= saved.nanos();
            day.spent = kept.nanos().saturating_add(day.unsaved);
        } else if saved == Usd::default() {
            *day = Day {
                number: Some(number),
                spent: kept.nanos(),
                unsaved: 0,
            };
        }
    }

    /// The turn to keep what was booked.
    pub(super) async fn turn(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.turn.lock().await
    }

    /// What is to be kept, and of which day.
    pub(super) fn unsaved(&self) -> Option<(i64, Usd)> {
        let day = self.state().day;
        let number = day.number.filter(|_| day.unsaved > 0)?;
        Some((number, Usd::from_nanos(day.unsaved)))
    }

    /// Lets a call in: counts it, and holds what it will probably take.
    pub(super) fn admit(self: &Arc<Self>, now: Instant, today: Timestamp) -> Result<Held, Error> {
        let running = f64::from(self.running.load(Ordering::Relaxed));
        let (project, state) = (&self.project, &mut *self.state());
        let State {
            calls,
            tokens,
            day,
            usual,
        } = state;
        if let Some(most) = self.limits.per_day {
            #[expect(clippy::cast_precision_loss, reason = "an estimate")]
            let left = most.nanos().saturating_sub(day.spent) as f64;
            if left <= running * usual.nanos {
                let wait = if left <= 0.0 { rest_of(today) } else { SOON };
                let dollars = most.nanos() / 1_000_000_000;
                let cents = most.nanos() % 1_000_000_000 / 10_000_000;
                return Err(refused(
                    format!(
                        "the project `{project}` may spend {dollars}.{cents:02} USD a day, and has spent them or has calls under \
                         way that will; the day ends at midnight UTC (`projects.{project}.usd_per_day`)"
                    ),
                    wait,
                ));
            }
        }
        if let (Some(most), Some(bucket)) = (self.limits.tokens_per_minute, tokens) {
            let wait = bucket.lacks(1.0, now);
            let is_held = bucket.level() < running * usual.tokens;
            if let Some(wait) = wait.or(is_held.then_some(SOON)) {
                return Err(refused(
                    format!(
                        "the project `{project}` may use {most} tokens a minute (`projects.{project}.tokens_per_minute`)"
                    ),
                    wait,
                ));
            }
        }
        if let (Some(most), Some(bucket)) = (self.limits.calls_per_minute, calls) {
            if let Some(wait) = bucket.lacks(1.0, now) {
                return Err(refused(
                    format!(
                        "the project `{project}` may make {most} calls a minute (`projects.{project}.calls_per_minute`)"
                    ),
                    wait,
                ));
            }
            bucket.take(1.0);
        }
        self.running.fetch_add(1, Ordering::Relaxed);
        Ok(Held(self.clone()))
    }

    /// Books what a call took; says whether something is to be kept. What began before midnight and ended behind it
    /// counts for the day that is known.
    pub(super) fn book(&self, usage: &Usage, cost: Cost) -> bool {
        let (tokens, nanos) = (usage.total_tokens(), cost.total().nanos());
        let state = &mut *self.state();
        #[expect(clippy::cast_precision_loss, reason = "an estimate, and a bucket")]
        let (of_tokens, of_nanos) = (tokens as f64, nanos as f64);
        state.usual.tokens += NEWEST * (of_tokens - state.usual.tokens);
        state.usual.nanos += NEWEST * (of_nanos - state.usual.nanos);
        if let Some(bucket) = &mut state.tokens {
            bucket.take(of_tokens);
        }
        if self.limits.per_day.is_none() || nanos <= 0 || state.day.number.is_none() {
            return false;
        }
        state.day.spent = state.day.spent.saturating_add(nanos);
        state.day.unsaved = state.day.unsaved.saturating_add(nanos);
        true
    }

    /// No panic happens while it is locked, so what is behind a poisoned lock is whole.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn day_of(time: Timestamp) -> i64 {
    time.micros().div_euclid(MICROS_A_DAY)
}

fn rest_of(time: Timestamp) -> Duration {
    let gone = time.micros().rem_euclid(MICROS_A_DAY);
    Duration::from_micros((MICROS_A_DAY - gone).unsigned_abs())
}

/// An amount of the configuration, which is above zero and no more than a billion.
fn usd(amount: f64) -> Usd {
    Usd::from_decimal(&amount.to_string()).unwrap_or_default()
}

/// The refusal of a limit of ours.
pub(super) fn refused(why: String, wait: Duration) -> Error {
    let mut error = Error::text(Code::RateLimit, why);
    error.retry_after = Some(wait.max(SOON));
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: i64 = 20_000 * MICROS_A_DAY + MICROS_A_DAY / 2;

    fn meter(options: &ProjectOptions) -> Arc<Meter> {
        Arc::new(Meter::of("p", options, Instant::now()).unwrap())
    }

    fn admit(meter: &Arc<Meter>) -> Result<Held, Error> {
        meter.admit(Instant::now(), Timestamp::from_micros(NOON))
    }

    fn used(tokens: u64, nanos: i64) -> (Usage, Cost) {
        let usage = Usage {
            output_tokens: tokens,
            ..Usage::default()
        };
        (usage, Cost::new(Usd::from_nanos(nanos), Usd::default()))
    }

    #[tokio::test(start_paused = true)]
    async fn calls_are_counted_by_the_minute() {
        let meter = meter(&ProjectOptions {
            calls_per_minute: Some(2),
            ..ProjectOptions::default()
        });

        assert!(admit(&meter).is_ok() && admit(&meter).is_ok());
        let refusal = admit(&meter).unwrap_err();
        tokio::time::advance(Duration::from_secs(30)).await;

        assert_eq!(refusal.code, Code::RateLimit);
        assert_eq!(refusal.retry_after, Some(Duration::from_secs(30)));
        assert!(refusal.reason().contains("2 calls a minute"));
        assert!(admit(&meter).is_ok());
        assert!(admit(&meter).is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn tokens_are_booked_behind_and_what_is_under_way_is_held() {
        let meter = meter(&ProjectOptions {
            tokens_per_minute: Some(600),
            ..ProjectOptions::default()
        });
        let (usage, cost) = used(900, 0);

        let first = admit(&meter).unwrap();
        assert!(!meter.book(&usage, cost));
        drop(first);
        let in_debt = admit(&meter).unwrap_err();
        tokio::time::advance(Duration::from_secs(90)).await;
        // One call is expected to take 112 by now, so that six more would be too many.
        let held: Vec<_> = std::iter::from_fn(|| admit(&meter).ok()).take(9).collect();

        assert!(
            in_debt.retry_after.unwrap() > Duration::from_secs(30),
            "{in_debt:?}"
        );
        assert_eq!(held.len(), 6);
        drop(held);
        assert!(admit(&meter).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn money_is_counted_by_the_day() {
        let meter = meter(&ProjectOptions {
            usd_per_day: Some(0.5),
            ..ProjectOptions::default()
        });
        let today = Timestamp::from_micros(NOON);
        let tomorrow = Timestamp::from_micros(NOON + MICROS_A_DAY);
        assert_eq!(meter.unknown_day(today), Some(20_000));
        meter.is_kept(20_000, Usd::from_nanos(300_000_000), Usd::default());

        let held = admit(&meter).unwrap();
        let (usage, cost) = used(1, 200_000_000);
        assert!(meter.book(&usage, cost));
        drop(held);
        let spent = admit(&meter).unwrap_err();

        assert_eq!(
            meter.unsaved(),
            Some((20_000, Usd::from_nanos(200_000_000)))
        );
        assert_eq!(spent.retry_after, Some(Duration::from_hours(12)));
        assert!(spent.reason().contains("0.50 USD"), "{spent}");
        meter.is_kept(
            20_000,
            Usd::from_nanos(500_000_000),
            Usd::from_nanos(200_000_000),
        );
        assert_eq!(meter.unsaved(), None);
        assert!(admit(&meter).is_err());
        assert_eq!(meter.unknown_day(tomorrow), Some(20_001));
        meter.is_kept(20_001, Usd::default(), Usd::default());
        assert!(meter.admit(Instant::now(), tomorrow).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn what_calls_under_way_will_spend_is_spent() {
        let meter = meter(&ProjectOptions {
            usd_per_day: Some(1.0),
            ..ProjectOptions::default()
        });
        meter.is_kept(20_000, Usd::default(), Usd::default());
        let (usage, cost) = used(1, 800_000_000);

        // One that costs 0.8 makes the next be expected at 0.1, of the 0.2 that are left.
        drop(admit(&meter));
        meter.book(&usage, cost);
        let held: Vec<_> = std::iter::from_fn(|| admit(&meter).ok()).take(9).collect();
        let refusal = admit(&meter).unwrap_err();

        assert_eq!(held.len(), 2);
        assert_eq!(refusal.retry_after, Some(SOON));
    }

    #[test]
    fn nothing_is_metered_without_a_limit() {
        assert!(Meter::of("p", &ProjectOptions::default(), Instant::now()).is_none());
    }
}
