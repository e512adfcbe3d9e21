//! Addresses in what a caller wrote and we hand on as it stands: the host will fetch from them, whatever we make of the
//! rest.

use domain::Json;
use serde_json::Value;
use url::Url;

/// What the names of members with addresses end in. Some hosts take an address where others take the bytes.
const ENDINGS: [&str; 3] = ["url", "uri", "data"];

/// The web addresses in the members that are called as addresses are.
pub(super) fn addresses(given: &Json) -> Vec<String> {
    let mut found = Vec::new();
    collect(given.to_value(), false, &mut found);
    found
}

fn collect(value: Value, is_address: bool, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                let name = name.to_ascii_lowercase();
                // `{"image_url": {"url": …}}`, and `{"url": {"address": …}}`.
                let is_address = is_address || ENDINGS.iter().any(|ending| name.ends_with(ending));
                collect(value, is_address, found);
            }
        }
        Value::Array(values) => {
            for value in values {
                collect(value, is_address, found);
            }
        }
        Value::String(text) if is_address => {
            let url = Url::parse(&text);
            if url.is_ok_and(|url| matches!(url.scheme(), "http" | "https")) {
                found.push(text);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_found_by_the_names_of_their_members() {
        let given = r#"{"role": "user", "content": [
            {"type": "text", "text": "see http://a.example"},
            {"type": "video_url", "video_url": {"url": "http://b.example", "detail": "low"}},
            {"type": "file", "file": {"fileUri": " HTTP:/10.0.0.1"}},
            {"type": "file", "file": {"file_data": "https://d.example"}},
            {"type": "x", "x": [{"urls": "http://no.example", "im\u0061geURL": ["https:\/\/c.example", 3, "data:,"]}]}
        ]}"#;

        let found = addresses(&Json::parse(given).unwrap());

        assert_eq!(
            found,
            [
                "http://b.example",
                " HTTP:/10.0.0.1",
                "https://d.example",
                "https://c.example"
            ]
        );
    }
}
