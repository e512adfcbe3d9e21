//! The bars of `ocr.md` 7, and which of them a fixture missed.

use crate::documents::{Expected, Set, Truth};

use super::{Score, Verdict, distance::ratio};

/// What every fixture of a set must reach.
struct Bars {
    /// The most wrong letters, in parts.
    letters: f64,
    /// The least cells in place, in parts.
    cells: f64,
}

/// The least overlap of a picture's box.
const BOXES: f32 = 0.95;
/// The longest time that a hostile document may take.
const HOSTILE_SECONDS: f64 = 10.0;
/// What may be read from a page without a text: noise in a picture may look like a letter.
const BLANK_LETTERS: usize = 10;

const fn bars(set: Set) -> Bars {
    let (letters, cells) = match set {
        Set::Digital => (0.001, 0.99),
        Set::Clean => (0.003, 0.95),
        Set::Hard | Set::Hostile => (0.015, 0.95),
    };
    Bars { letters, cells }
}

/// The bars that a fixture missed, in words.
pub fn missed(truth: &Truth, verdict: &Verdict) -> Vec<String> {
    let mut missed = Vec::new();
    if truth.set == Set::Hostile && verdict.seconds.is_some_and(|time| time >= HOSTILE_SECONDS) {
        missed.push(format!("answered in {HOSTILE_SECONDS} s"));
    }
    let refused = (400..500).contains(&verdict.status);
    match &truth.expected {
        Expected::Refusal { status, slugs } => {
            let slug = verdict.slug.as_ref();
            if verdict.status != *status {
                missed.push(format!("status {status}"));
            } else if !slug.is_some_and(|slug| slugs.contains(slug)) {
                missed.push(format!("slug {}", slugs.join(" or ")));
            }
        }
        Expected::Either if refused => {}
        Expected::Either => match &verdict.score {
            Some(score) if correct(truth, score) => {}
            _ => missed.push("4xx, or a correct 200".to_owned()),
        },
        Expected::Answer => match &verdict.score {
            Some(score) => missed.extend(missed_by(truth, score)),
            None => missed.push("status 200".to_owned()),
        },
    }
    missed
}

/// Whether what was read of a broken document is there in truth.
fn correct(truth: &Truth, score: &Score) -> bool {
    if score.strange_pages > 0 {
        return false;
    }
    if score.letters.length == 0 {
        return truth.pages.is_empty() || score.letters.edits <= BLANK_LETTERS;
    }
    score.letters.rate() <= bars(Set::Hostile).letters
}

fn missed_by(truth: &Truth, score: &Score) -> Vec<String> {
    let bars = bars(truth.judged_as);
    let Score { order, cells, .. } = score;
    let least = score.boxes.least.unwrap_or(1.0);
    let checks = [
        (score.strange_pages == 0, "all pages".to_owned()),
        (
            score.letters.rate() <= bars.letters,
            format!("CER <= {:.1} %", bars.letters * 100.0),
        ),
        (order.wrong == 0, "reading order all right".to_owned()),
        (
            cells.total == 0 || ratio(cells.right, cells.total) >= bars.cells,
            format!("cells >= {:.0} %", bars.cells * 100.0),
        ),
        (least >= BOXES, format!("image boxes IoU >= {BOXES}")),
        (score.boxes.surplus == 0, "no false images".to_owned()),
        (
            score.false_headings.is_empty(),
            "no false headings".to_owned(),
        ),
    ];
    let missed = checks.into_iter().filter(|(held, _)| !held);
    missed.map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documents::{
        PageTruth,
        judge::{Order, Tally},
    };

    fn truth(set: Set, expected: Expected) -> Truth {
        Truth {
            name: "x".into(),
            set,
            judged_as: set,
            file: "x.pdf".into(),
            seed: 1,
            page_count: 1,
            pages: vec![PageTruth::default()],
            expected,
        }
    }

    fn verdict(status: u16, slug: &str, seconds: f64, score: Option<Score>) -> Verdict {
        Verdict {
            name: "x".into(),
            set: Set::Hostile,
            status,
            slug: Some(slug.to_owned()),
            seconds: Some(seconds),
            score,
            missed: Vec::new(),
        }
    }

    fn wrong_letters(edits: usize) -> Score {
        Score {
            letters: Tally {
                edits,
                length: 1000,
            },
            ..Score::default()
        }
    }

    #[test]
    fn each_set_has_its_bar_for_letters() {
        for (set, most) in [(Set::Digital, 1), (Set::Clean, 3), (Set::Hard, 15)] {
            let truth = truth(set, Expected::Answer);
            let judged = |edits| missed(&truth, &verdict(200, "", 0.1, Some(wrong_letters(edits))));

            assert_eq!(judged(most), Vec::<String>::new());
            assert_eq!(judged(most + 1).len(), 1);
        }
    }

    #[test]
    fn a_hostile_document_is_refused_in_time_or_read_rightly() {
        let truth = truth(Set::Hostile, Expected::Either);
        let judged = |status, seconds, score| missed(&truth, &verdict(status, "", seconds, score));

        assert_eq!(judged(422, 1.0, None), Vec::<String>::new());
        assert_eq!(judged(422, 11.0, None), ["answered in 10 s"]);
        assert_eq!(judged(500, 1.0, None), ["4xx, or a correct 200"]);
        assert_eq!(
            judged(200, 1.0, Some(wrong_letters(10))),
            Vec::<String>::new()
        );
        assert_eq!(
            judged(200, 1.0, Some(wrong_letters(16))),
            ["4xx, or a correct 200"]
        );
    }

    #[test]
    fn a_refusal_says_why() {
        let expected = Expected::Refusal {
            status: 422,
            slugs: vec!["document_encrypted".into()],
        };
        let truth = truth(Set::Hostile, expected);
        let judged = |status, slug| missed(&truth, &verdict(status, slug, 0.1, None));

        assert_eq!(judged(422, "document_encrypted"), Vec::<String>::new());
        assert_eq!(judged(422, "invalid_document"), ["slug document_encrypted"]);
        assert_eq!(judged(200, ""), ["status 422"]);
    }

    #[test]
    fn every_fault_is_named() {
        let score = Score {
            order: Order { pairs: 3, wrong: 1 },
            false_headings: vec!["no".into()],
            ..Score::default()
        };
        let truth = truth(Set::Clean, Expected::Answer);

        assert_eq!(
            missed(&truth, &verdict(200, "", 0.1, Some(score))),
            ["reading order all right", "no false headings"]
        );
    }
}
