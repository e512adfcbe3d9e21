//! The judge: what was read from a fixture, held against the truth about it. Pure functions; nothing is sent or read.

mod bars;
mod boxes;
mod cells;
mod distance;
mod order;
mod text;

use domain::Label;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use bars::missed;
pub use boxes::{Boxes, boxes};
pub use cells::{Cells, cells};
pub use distance::{Tally, alike, letters, words};
pub use order::{Order, order};
pub use text::{fold, headings, plain};

use super::{Expected, PageTruth, Set, Truth};

/// What a server said to a fixture.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// The status; 0 when there was no answer in time.
    pub status: u16,
    /// The body as JSON.
    pub body: Value,
    /// From the request to the body's end; nothing when the answer was kept from earlier.
    pub seconds: Option<f64>,
}

/// How well a fixture, or a set of them, was read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// Pages that were compared.
    pub pages: usize,
    /// Wrong letters.
    pub letters: Tally,
    /// Wrong words.
    pub words: Tally,
    /// Blocks in order.
    pub order: Order,
    /// Cells in place.
    pub cells: Cells,
    /// Boxes of pictures.
    pub boxes: Boxes,
    /// Headings of an answer that are none.
    pub false_headings: Vec<String>,
    /// True headings that are none in the answer.
    pub missing_headings: usize,
    /// Pages that are not in the answer, or too many.
    pub strange_pages: usize,
}

/// What is said about a fixture in the end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The fixture's name.
    pub name: String,
    /// Its set.
    pub set: Set,
    /// The status of the answer.
    pub status: u16,
    /// The slug of a refusal.
    pub slug: Option<String>,
    /// How long the answer took.
    pub seconds: Option<f64>,
    /// What was read, if anything was.
    pub score: Option<Score>,
    /// The bars that were missed, in words.
    pub missed: Vec<String>,
}

/// Holds a server's answer against the truth.
pub fn judge(truth: &Truth, reply: &Reply) -> Verdict {
    let score = (reply.status == 200).then(|| score(truth, &reply.body));
    let mut verdict = Verdict {
        name: truth.name.clone(),
        set: truth.set,
        status: reply.status,
        slug: slug(&reply.body),
        seconds: reply.seconds,
        score,
        missed: Vec::new(),
    };
    verdict.missed = missed(truth, &verdict);
    verdict
}

/// Compares all pages of an answer with those of the truth.
pub fn score(truth: &Truth, answer: &Value) -> Score {
    let nothing = Vec::new();
    let pages = answer["pages"].as_array().unwrap_or(&nothing);
    let mut all = Score::default();
    for page in &truth.pages {
        let found = pages.iter().find(|found| found["index"] == page.index);
        all.strange_pages += usize::from(found.is_none());
        all.add(score_page(page, found.unwrap_or(&Value::Null)));
    }
    if truth.expected == Expected::Answer {
        all.strange_pages += pages.len().saturating_sub(truth.page_count as usize);
    }
    all
}

impl Score {
    /// Adds what was found elsewhere.
    pub fn add(&mut self, other: Self) {
        self.pages += other.pages;
        self.letters += other.letters;
        self.words += other.words;
        self.order.pairs += other.order.pairs;
        self.order.wrong += other.order.wrong;
        self.cells.right += other.cells.right;
        self.cells.total += other.cells.total;
        self.boxes.surplus += other.boxes.surplus;
        self.boxes.least = match (self.boxes.least, other.boxes.least) {
            (Some(one), Some(two)) => Some(one.min(two)),
            (one, two) => one.or(two),
        };
        self.false_headings.extend(other.false_headings);
        self.missing_headings += other.missing_headings;
        self.strange_pages += other.strange_pages;
    }
}

fn score_page(truth: &PageTruth, answer: &Value) -> Score {
    let markdown = answer["markdown"].as_str().unwrap_or_default();
    let nothing = Vec::new();
    let elements = answer["elements"].as_array().unwrap_or(&nothing);
    let text = plain(markdown);
    let wanted = nearest(truth, &text);
    let (false_headings, missing_headings) = judge_headings(truth, markdown, elements);
    Score {
        pages: 1,
        letters: letters(&wanted, &text),
        words: words(&wanted, &text),
        order: order(truth, &text),
        cells: cells(truth, elements),
        boxes: boxes(truth, answer),
        false_headings,
        missing_headings,
        strange_pages: 0,
    }
}

/// A page's text, with or without what stands above and below it: an answer may leave that out.
fn nearest(truth: &PageTruth, answer: &str) -> String {
    let mut texts = Vec::new();
    for left_out in [
        &[][..],
        &[Label::PageHeader],
        &[Label::PageFooter],
        &[Label::PageHeader, Label::PageFooter],
    ] {
        let blocks = truth.blocks.iter();
        let kept = blocks.filter(|block| !left_out.contains(&block.label));
        let kept: Vec<_> = kept.map(|block| block.text.as_str()).collect();
        let text = fold(&kept.join(" "));
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    texts
        .into_iter()
        .min_by_key(|text| letters(text, answer).edits)
        .expect("four texts")
}

/// The headings in an answer that are none, and how many true ones are missing.
fn judge_headings(truth: &PageTruth, markdown: &str, elements: &[Value]) -> (Vec<String>, usize) {
    let heading = [Label::Title, Label::SectionHeader];
    let wanted = truth.blocks.iter();
    let wanted: Vec<_> = wanted
        .filter(|block| heading.contains(&block.label))
        .map(|block| fold(&block.text))
        .collect();
    let mut found = headings(markdown);
    let named = elements.iter().filter(|element| {
        let label = element["label"].as_str();
        matches!(label, Some("title" | "section_header"))
    });
    found.extend(named.map(|element| fold(element["text"].as_str().unwrap_or_default())));
    let mut wrong: Vec<String> = Vec::new();
    for text in &found {
        // A long heading may be found in two pieces.
        let right = |wanted: &String| alike(wanted, text) || wanted.contains(text);
        if !wanted.iter().any(right) && !wrong.contains(text) {
            wrong.push(text.clone());
        }
    }
    let missing = wanted.iter().filter(|wanted| {
        let mut found = found.iter();
        !found.any(|text| alike(wanted, text) || (text.len() > 3 && wanted.contains(text)))
    });
    (wrong, missing.count())
}

/// The slug of a refusal: the first item's `type` in a 422, else `detail.reason`.
fn slug(body: &Value) -> Option<String> {
    let detail = &body["detail"];
    let slug = detail[0]["type"].as_str().or(detail["reason"].as_str());
    slug.map(ToOwned::to_owned)
}

#[cfg(test)]
mod tests {
    use domain::Bbox;
    use serde_json::json;

    use super::*;
    use crate::documents::Block;

    fn truth() -> Truth {
        let block = |label, text: &str| Block::new(label, text, Bbox::default());
        Truth {
            name: "small".into(),
            set: Set::Digital,
            file: "small.pdf".into(),
            seed: 1,
            page_count: 1,
            judged_as: Set::Digital,
            pages: vec![PageTruth {
                width: 100.0,
                height: 100.0,
                blocks: vec![
                    block(Label::PageHeader, "Yearly Report"),
                    block(Label::Title, "The Old Bridge"),
                    block(Label::Text, "It was repaired twice, and nobody knows why."),
                ],
                ..PageTruth::default()
            }],
            expected: Expected::Answer,
        }
    }

    fn reply(markdown: &str) -> Reply {
        let page = json!({"index": 0, "markdown": markdown, "dimensions": null, "images": [], "elements": []});
        Reply {
            status: 200,
            body: json!({"pages": [page]}),
            seconds: Some(0.1),
        }
    }

    #[test]
    fn a_right_answer_misses_no_bar_with_and_without_what_stands_above() {
        let text = "# The Old Bridge\n\nIt was repaired twice, and nobody knows why.";
        for markdown in [text.to_owned(), format!("Yearly Report\n\n{text}")] {
            let verdict = judge(&truth(), &reply(&markdown));

            assert_eq!(verdict.missed, Vec::<String>::new());
        }
    }

    #[test]
    fn a_wrong_letter_and_a_false_heading_are_seen() {
        let markdown = "## Yearly Report\n\n# The Old Bridge\n\n## It was repaired twice, and nobody knows whv.";

        let score = judge(&truth(), &reply(markdown)).score.unwrap();

        // 13 + 1 + 14 + 1 + 44 letters.
        assert_eq!((score.letters.edits, score.letters.length), (1, 73));
        assert_eq!((score.words.edits, score.words.length), (1, 13));
        assert_eq!(
            score.false_headings,
            [
                "Yearly Report",
                "It was repaired twice, and nobody knows whv."
            ]
        );
        assert_eq!(score.missing_headings, 0);
    }

    #[test]
    fn a_page_that_is_missing_is_all_wrong() {
        let empty = Reply {
            body: json!({"pages": []}),
            ..reply("")
        };

        let verdict = judge(&truth(), &empty);

        let score = verdict.score.unwrap();
        assert_eq!((score.strange_pages, score.letters.rate()), (1, 1.0));
        assert!(!verdict.missed.is_empty());
    }

    #[test]
    fn the_slug_is_found_in_both_places() {
        let in_list = json!({"detail": [{"type": "document_encrypted"}]});
        let in_detail = json!({"detail": {"reason": "url_not_allowed"}});

        assert_eq!(slug(&in_list).as_deref(), Some("document_encrypted"));
        assert_eq!(slug(&in_detail).as_deref(), Some("url_not_allowed"));
        assert_eq!(slug(&json!({"detail": "no"})), None);
    }
}
