//! The table of what was found.

use std::fmt::Write;

use testkit::documents::{
    Set,
    judge::{Score, Verdict},
};

const HEAD: [&str; 11] = [
    "fixture", "status", "s", "pages/s", "CER %", "WER %", "order", "cells %", "IoU", "false #",
    "lost #",
];

/// A line per fixture, and one per set over all of its fixtures.
pub(crate) fn of(verdicts: &[Verdict]) -> String {
    let mut text = String::new();
    for set in Set::ALL {
        let of_set: Vec<_> = verdicts
            .iter()
            .filter(|verdict| verdict.set == set)
            .collect();
        if of_set.is_empty() {
            continue;
        }
        row(&mut text, &HEAD.map(str::to_owned));
        let mut all = Score::default();
        let mut seconds = 0.0;
        for verdict in &of_set {
            let status = match &verdict.slug {
                Some(slug) => format!("{} {slug}", verdict.status),
                None => verdict.status.to_string(),
            };
            let mark = if verdict.missed.is_empty() { "" } else { " !" };
            let name = format!("{}{mark}", verdict.name);
            row(
                &mut text,
                &columns(name, status, verdict.seconds, verdict.score.as_ref()),
            );
            seconds += verdict.seconds.unwrap_or_default();
            if let Some(score) = &verdict.score {
                all.add(score.clone());
            }
        }
        let missed = of_set.iter().filter(|verdict| !verdict.missed.is_empty());
        let status = format!("{} of {} missed", missed.count(), of_set.len());
        let name = format!("= {}", set.name());
        row(&mut text, &columns(name, status, Some(seconds), Some(&all)));
        text.push('\n');
    }
    text
}

fn columns(
    name: String,
    status: String,
    seconds: Option<f64>,
    score: Option<&Score>,
) -> [String; 11] {
    let dash = || "-".to_owned();
    let mut columns = [const { String::new() }; 11];
    columns.fill_with(dash);
    columns[0] = name;
    columns[1] = status;
    if let Some(seconds) = seconds {
        columns[2] = format!("{seconds:.2}");
    }
    let Some(score) = score else {
        return columns;
    };
    if let Some(seconds) = seconds.filter(|seconds| *seconds > 0.0) {
        columns[3] = format!("{:.1}", part(score.pages, 1) / seconds);
    }
    columns[4] = format!("{:.2}", score.letters.rate() * 100.0);
    columns[5] = format!("{:.2}", score.words.rate() * 100.0);
    columns[6] = match score.order.wrong {
        0 => "right".to_owned(),
        wrong => format!("{wrong}/{} wrong", score.order.pairs),
    };
    if score.cells.total > 0 {
        columns[7] = format!("{:.1}", part(score.cells.right, score.cells.total) * 100.0);
    }
    if let Some(least) = score.boxes.least {
        columns[8] = format!("{least:.3}");
    }
    if score.boxes.surplus > 0 {
        columns[8] = format!("{} +{}", columns[8], score.boxes.surplus);
    }
    columns[9] = score.false_headings.len().to_string();
    columns[10] = score.missing_headings.to_string();
    columns
}

fn row(text: &mut String, columns: &[String; 11]) {
    for (index, column) in columns.iter().enumerate() {
        let _infallible = match index {
            0 => write!(text, "{column:<25}"),
            1 => write!(text, " {column:<25}"),
            6 => write!(text, " {column:>12}"),
            _ => write!(text, " {column:>8}"),
        };
    }
    text.push('\n');
}

#[expect(clippy::cast_precision_loss, reason = "pages and cells")]
fn part(of: usize, whole: usize) -> f64 {
    of as f64 / whole as f64
}
