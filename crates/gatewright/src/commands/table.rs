//! Tables on a terminal.

use domain::Timestamp;

/// The lines of a table under a head, its columns as wide as they need to be.
pub(super) fn lines<const N: usize>(
    head: [&str; N],
    rows: impl Iterator<Item = [String; N]>,
) -> Vec<String> {
    let mut table = vec![head.map(str::to_owned)];
    table.extend(rows);
    let mut widths = [0; N];
    for row in &table {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    let line = |row: &[String; N]| {
        let cells = row
            .iter()
            .zip(widths)
            .map(|(cell, width)| format!("{cell:width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    table.iter().map(line).collect()
}

/// A time to the second.
pub(super) fn time(at: Timestamp) -> String {
    let text = at.to_string();
    let whole_seconds = text.split('.').next().unwrap_or_default();
    format!("{whole_seconds}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [["1", "Köln"], ["22", ""]].map(|row| row.map(str::to_owned));

        let lines = lines(["ID", "LABEL"], rows.into_iter());

        assert_eq!(lines, ["ID  LABEL", "1   Köln", "22"]);
    }

    #[test]
    fn times_are_shown_to_the_second() {
        assert_eq!(
            time(Timestamp::from_micros(1_738_324_800_123_456)),
            "2025-01-31T12:00:00Z"
        );
    }
}
