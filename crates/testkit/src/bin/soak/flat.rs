//! Samples, and whether they are flat.

use std::{fmt, time::Duration};

use testkit::{Checks, Weight};

pub(crate) const HEAD: &str =
    "| s | calls | MiB resident | descriptors | threads | log MiB |\n|---|---|---|---|---|---|";

/// What the server took at one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) at: Duration,
    pub(crate) weight: Weight,
    pub(crate) answered: u64,
}

/// Something that may grow, and by how much over half of the time: so much, and such a share of where it stood.
struct Measure {
    name: &'static str,
    of: fn(&Weight) -> u64,
    spare: f64,
    share: f64,
}

const MIB: f64 = 1024.0 * 1024.0;

const MEASURES: [Measure; 4] = [
    Measure {
        name: "resident KiB",
        of: |weight| weight.resident_kib,
        spare: 16.0 * 1024.0,
        share: 0.05,
    },
    Measure {
        name: "descriptors",
        of: |weight| weight.descriptors,
        spare: 16.0,
        share: 0.05,
    },
    Measure {
        name: "threads",
        of: |weight| weight.threads,
        spare: 4.0,
        share: 0.0,
    },
    Measure {
        name: "bytes of the database's log",
        of: |weight| weight.log_bytes,
        spare: 16.0 * MIB,
        share: 0.05,
    },
];

/// Holds the second half of the samples to being flat: by the line that fits them best.
pub(crate) fn judge(samples: &[Sample], checks: &mut Checks) {
    let half = &samples[samples.len() / 2..];
    for measure in MEASURES {
        let points: Vec<(f64, f64)> = half
            .iter()
            .map(|sample| {
                (
                    sample.at.as_secs_f64(),
                    number((measure.of)(&sample.weight)),
                )
            })
            .collect();
        let (level, growth) = line(&points);
        let allowed = measure.spare + measure.share * level;
        checks.that(
            &format!("{} stay flat", measure.name),
            growth <= allowed,
            &format!("{growth:+.0} over the second half, at {level:.0}; {allowed:.0} are allowed"),
        );
    }
}

/// Where the best line through the points begins, and by how much it grows to their end.
fn line(points: &[(f64, f64)]) -> (f64, f64) {
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return (0.0, 0.0);
    };
    let count = number(points.len() as u64);
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (middle, level) = (mean(|point| point.0), mean(|point| point.1));
    let covariance: f64 = points.iter().map(|(x, y)| (x - middle) * (y - level)).sum();
    let variance: f64 = points.iter().map(|(x, _)| (x - middle).powi(2)).sum();
    let slope = if variance > 0.0 {
        covariance / variance
    } else {
        0.0
    };
    (
        level + slope * (first.0 - middle),
        slope * (last.0 - first.0),
    )
}

#[expect(
    clippy::cast_precision_loss,
    reason = "no process takes 2^53 of anything"
)]
fn number(count: u64) -> f64 {
    count as f64
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Weight {
            resident_kib,
            descriptors,
            threads,
            log_bytes,
        } = self.weight;
        write!(
            f,
            "| {} | {} | {} | {descriptors} | {threads} | {:.1} |",
            self.at.as_secs(),
            self.answered,
            resident_kib / 1024,
            number(log_bytes) / MIB,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(resident_kib: impl Fn(u64) -> u64) -> Vec<Sample> {
        let sample = |at| Sample {
            at: Duration::from_secs(at * 10),
            weight: Weight {
                resident_kib: resident_kib(at),
                ..Weight::default()
            },
            answered: at,
        };
        (1..=100).map(sample).collect()
    }

    fn holds(resident_kib: impl Fn(u64) -> u64) -> bool {
        let mut checks = Checks::default();
        judge(&samples(resident_kib), &mut checks);
        checks.verdict().is_ok()
    }

    #[test]
    fn what_grows_and_then_stays_is_flat() {
        assert!(holds(|at| 100_000 + at.min(40) * 10_000));
        assert!(holds(|at| 100_000 + at % 7 * 4_000));
    }

    #[test]
    fn what_grows_and_grows_is_not() {
        assert!(!holds(|at| 100_000 + at * 1000));
    }
}
