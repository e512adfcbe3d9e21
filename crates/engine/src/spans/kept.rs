//! What a span keeps of long inputs and outputs (`reliability.md` 3).

use domain::Json;

/// What a span keeps of input and output together.
const MAX_KEPT_BYTES: usize = 8 * 1024 * 1024;

/// Input and output as far as a span keeps them, and whether anything was cut. The shorter one is cut last.
pub(crate) fn kept(
    input: Option<Json>,
    output: Option<Json>,
) -> (Option<Json>, Option<Json>, bool) {
    let bytes = |value: &Option<Json>| value.as_ref().map_or(0, |value| value.text().len());
    let (of_input, of_output) = (bytes(&input), bytes(&output));
    if of_input + of_output <= MAX_KEPT_BYTES {
        return (input, output, false);
    }
    let room_beside = |other: usize| MAX_KEPT_BYTES - other.min(MAX_KEPT_BYTES / 2);
    let input = input.map(|value| cut(value, room_beside(of_output)));
    let output = output.map(|value| cut(value, room_beside(of_input)));
    (input, output, true)
}

/// The value, or the beginning of its text as a string of at most `room` bytes.
fn cut(value: Json, room: usize) -> Json {
    if value.text().len() <= room {
        return value;
    }
    let text = value.as_string().unwrap_or_else(|| value.text().to_owned());
    let mut length = room;
    loop {
        // As JSON the text may be longer than it is: quotes and backslashes count twice.
        let kept = Json::of(&&text[..text.floor_char_boundary(length)]);
        if kept.text().len() <= room {
            return kept;
        }
        length = (length - 1).min(length * room / kept.text().len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1024 * 1024;

    fn text(bytes: usize) -> Json {
        Json::of(&"\"".repeat(bytes / 2))
    }

    #[test]
    fn what_fits_together_is_kept_whole() {
        let cases = [
            (Some(text(5 * MIB)), Some(text(2 * MIB))),
            (Some(text(7 * MIB)), None),
            (None, None),
        ];
        for (input, output) in cases {
            assert_eq!(kept(input.clone(), output.clone()), (input, output, false));
        }
    }

    #[test]
    fn what_does_not_is_cut_to_the_bound() {
        for (input, output) in [(9, 0), (9, 9), (1, 9), (6, 3), (12, 12)] {
            let (input, output, truncated) =
                kept(Some(text(input * MIB)), Some(text(output * MIB)));

            let sum = input.unwrap().text().len() + output.unwrap().text().len();
            assert!(
                truncated && sum <= MAX_KEPT_BYTES && sum > MAX_KEPT_BYTES * 3 / 4,
                "{sum}"
            );
        }
    }

    #[test]
    fn a_long_object_is_kept_as_the_beginning_of_its_text() {
        let value = Json::of(&serde_json::json!({"a": "x".repeat(9 * MIB)}));

        let (input, ..) = kept(Some(value.clone()), None);

        assert!(
            value
                .text()
                .starts_with(&input.unwrap().as_string().unwrap())
        );
    }
}
