//! How large a pattern is once its repetitions are written out.
//!
//! Matching takes time that grows with the text times the states of the pattern, and memory that grows with the states.

use regex_syntax::{
    Parser,
    hir::{Class, Hir, HirKind},
};

/// What a pattern counts that is written in another dialect than is parsed here; it still has to compile.
const UNREAD_STATES_PER_BYTE: u64 = 8;
/// A class of characters beyond ASCII takes several states, one for each length of their bytes and more.
const WIDE_CLASS_STATES: u64 = 8;

/// Roughly how many states the pattern has, its repetitions written out.
pub(super) fn states(pattern: &str) -> u64 {
    match Parser::new().parse(pattern) {
        Ok(parsed) => of(&parsed),
        Err(_) => pattern.len() as u64 * UNREAD_STATES_PER_BYTE,
    }
}

fn of(pattern: &Hir) -> u64 {
    match pattern.kind() {
        HirKind::Literal(literal) => literal.0.len() as u64,
        HirKind::Class(Class::Unicode(class)) if !class.is_ascii() => WIDE_CLASS_STATES,
        HirKind::Class(_) | HirKind::Empty | HirKind::Look(_) => 1,
        HirKind::Repetition(repetition) => {
            let times = repetition
                .max
                .unwrap_or(repetition.min.saturating_add(1))
                .max(1);
            of(&repetition.sub).saturating_mul(u64::from(times))
        }
        HirKind::Capture(capture) => of(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts
            .iter()
            .fold(1, |sum: u64, part| sum.saturating_add(of(part))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repetitions_are_written_out() {
        for (pattern, least, most) in [
            ("^[a-z0-9-]+$", 3, 10),
            ("^[^@]+@[^@]+$", 5, 50),
            ("[01]*1[01]{1000}2", 1_000, 1_100),
            ("(([01]{1,60}){1,60}){0,2}2$", 7_200, 7_300),
            ("[ab]{1,9000}x", 9_000, 9_100),
            ("(?=a)b", 1, 100),
        ] {
            let states = states(pattern);

            assert!((least..=most).contains(&states), "{pattern}: {states}");
        }
    }
}
