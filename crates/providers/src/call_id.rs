//! Ids of calls whose host gave none. A result refers to its call by one, and a conversation has the calls of many
//! answers.

use aws_lc_rs::rand;

/// What they begin with.
pub(crate) const MADE_UP: &str = "call_";

/// The id of an answer's call: of what the host names its `answer` by, if it does, else of chance.
pub(crate) fn made_up(answer: Option<&str>, number: usize) -> String {
    let is_taken = |char: &char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_');
    let mut mark: String = answer
        .unwrap_or_default()
        .chars()
        .filter(is_taken)
        .collect();
    if mark.is_empty() {
        mark = by_chance();
    }
    format!("{MADE_UP}{mark}_{number}")
}

fn by_chance() -> String {
    let mut bytes = [0; 8];
    rand::fill(&mut bytes).expect("the system has random numbers");
    format!("{:016x}", u64::from_be_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_answers_have_calls_of_one_id() {
        let named = made_up(Some("2026-11-22T12:00:00.385406455Z"), 1);
        let unnamed = [made_up(None, 0), made_up(Some(""), 0)];

        assert_eq!(named, "call_2026-11-22T120000385406455Z_1");
        assert_ne!(unnamed[0], unnamed[1]);
        assert!(unnamed.iter().all(|id| id.len() == 23), "{unnamed:?}");
    }
}
