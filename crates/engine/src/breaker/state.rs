//! One breaker. Time is what passed since the breakers were made.

use std::time::Duration;

use domain::seams::{ProviderError, ProviderErrorKind};

use super::{Refused, window::Window};

const FAILURES_IN_A_ROW: u32 = 5;
/// A share of failures says something from so many attempts on.
const ATTEMPTS_THAT_SAY: u64 = 20;
const FIRST_PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);
const LONGEST_REST: Duration = Duration::from_mins(1);
/// The jitter is a fifth of the pause to either side.
const JITTER: f64 = 0.2;

const SOUND: usize = 0;
const BROKEN: usize = 1;

/// What an attempt's end says of the model's health.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    /// It works.
    Sound,
    /// It does not.
    Broken,
    /// The host is there and refused this request: it neither adds to a row of failures nor ends one, but a probe
    /// that comes back with it has found somebody at home.
    Refusal,
    /// Nothing: the request never left.
    None,
}

impl Sign {
    /// Rows 1, 2, 4, 5 and 8 of the table in `reliability.md` 10 count against the model.
    pub(super) fn of(failure: &ProviderError) -> Self {
        match failure.kind {
            ProviderErrorKind::Connection
            | ProviderErrorKind::Timeout
            | ProviderErrorKind::Overloaded
            | ProviderErrorKind::Failed
            | ProviderErrorKind::Protocol => Self::Broken,
            // What the request refers to could not be had, or it cannot be worded: no host has said anything.
            _ if failure.status.is_none() => Self::None,
            ProviderErrorKind::RateLimited
            | ProviderErrorKind::Auth
            | ProviderErrorKind::UnknownModel
            | ProviderErrorKind::Invalid
            | ProviderErrorKind::ContentPolicy
            | ProviderErrorKind::ContextWindow
            | ProviderErrorKind::Batch
            | ProviderErrorKind::Demand => Self::Refusal,
            // A document that cannot be read says nothing of who reads it.
            ProviderErrorKind::RefusedAddress
            | ProviderErrorKind::Misconfigured
            | ProviderErrorKind::Document(_)
            | ProviderErrorKind::Busy => Self::None,
        }
    }
}

/// Whether the model may be asked.
#[derive(Debug, Default)]
pub(super) struct Breaker {
    /// Grows with every opening and closing, so that an attempt from before cannot be taken for the probe.
    epoch: u64,
    mode: Mode,
    rests_until: Duration,
    /// Attempts that are not over.
    under_way: usize,
}

#[derive(Debug)]
enum Mode {
    Closed {
        in_a_row: u32,
        ended: Window,
    },
    Open {
        until: Duration,
        /// The pause before jitter, which the next one doubles.
        pause: Duration,
        is_probed: bool,
    },
}

impl Default for Mode {
    fn default() -> Self {
        Self::Closed {
            in_a_row: 0,
            ended: Window::default(),
        }
    }
}

impl Breaker {
    /// The epoch that a new attempt belongs to, where fewer than `most` are under way.
    pub(super) fn admit(&mut self, now: Duration, most: usize) -> Result<u64, Refused> {
        if let Some(wait) = self
            .rests_until
            .checked_sub(now)
            .filter(|wait| !wait.is_zero())
        {
            return Err(Refused::Resting { wait });
        }
        if self.under_way >= most {
            return Err(Refused::Full);
        }
        if let Mode::Open {
            until, is_probed, ..
        } = &mut self.mode
        {
            if now < *until || *is_probed {
                return Err(Refused::Open);
            }
            *is_probed = true;
        }
        self.under_way += 1;
        Ok(self.epoch)
    }

    /// Whether nobody may pass but the probe.
    pub(super) const fn is_open(&self) -> bool {
        matches!(self.mode, Mode::Open { .. })
    }

    /// Rests the model. A shorter wait does not end a longer one.
    pub(super) fn rest(&mut self, now: Duration, wait: Duration) {
        self.rests_until = self.rests_until.max(now + wait.min(LONGEST_REST));
    }

    /// An attempt ended. One from before the last opening or closing says nothing new.
    pub(super) fn ended(
        &mut self,
        now: Duration,
        epoch: u64,
        sign: Sign,
        chance: impl FnOnce() -> f64,
    ) {
        if epoch != self.epoch {
            return;
        }
        match (&mut self.mode, sign) {
            (Mode::Closed { in_a_row, ended }, Sign::Sound) => {
                *in_a_row = 0;
                ended.add(now, SOUND);
            }
            (Mode::Closed { in_a_row, ended }, Sign::Broken) => {
                *in_a_row += 1;
                ended.add(now, BROKEN);
                let [sound, broken] = ended.sums(now);
                let most_failed = sound + broken >= ATTEMPTS_THAT_SAY && broken >= sound;
                if *in_a_row >= FAILURES_IN_A_ROW || most_failed {
                    self.open(now, FIRST_PAUSE, chance());
                }
            }
            (Mode::Open { pause, .. }, Sign::Broken) => {
                let pause = (*pause * 2).min(LONGEST_PAUSE);
                self.open(now, pause, chance());
            }
            (Mode::Open { .. }, Sign::Sound | Sign::Refusal) => {
                self.epoch += 1;
                self.mode = Mode::default();
            }
            (Mode::Closed { .. }, Sign::Refusal) | (_, Sign::None) => {}
        }
    }

    /// An attempt is over. If it was the probe and had no verdict, the next one may probe.
    pub(super) fn left(&mut self, epoch: u64) {
        self.under_way -= 1;
        if epoch == self.epoch
            && let Mode::Open { is_probed, .. } = &mut self.mode
        {
            *is_probed = false;
        }
    }

    fn open(&mut self, now: Duration, pause: Duration, chance: f64) {
        let jittered = pause.mul_f64(1.0 + JITTER * (2.0 * chance - 1.0));
        self.epoch += 1;
        self.mode = Mode::Open {
            until: now + jittered.min(LONGEST_PAUSE),
            pause,
            is_probed: false,
        };
    }
}
