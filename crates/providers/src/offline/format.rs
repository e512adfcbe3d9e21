//! Texts in the formats that JSON Schema has names for.

use std::net::{Ipv4Addr, Ipv6Addr};

use url::Url;

/// A text in that format; another `variant` gives another one.
pub(super) fn example(format: &str, variant: usize) -> Option<String> {
    let day = 1 + variant % 28;
    let octet = 1 + variant % 250;
    let number = if variant == 0 {
        String::new()
    } else {
        variant.to_string()
    };
    let text = match format {
        "date" => format!("2026-01-{day:02}"),
        "date-time" => format!("2026-01-{day:02}T00:00:00Z"),
        "time" => format!("{:02}:00:00Z", variant % 24),
        "duration" => format!("P{day}D"),
        "email" | "idn-email" => format!("ada{number}@example.com"),
        "hostname" | "idn-hostname" => format!("host{number}.example.com"),
        "ipv4" => format!("192.0.2.{octet}"),
        "ipv6" => format!("2001:db8::{octet:x}"),
        "uuid" => format!("00000000-0000-4000-8000-{variant:012x}"),
        "uri" | "iri" | "uri-reference" | "iri-reference" | "uri-template" | "url" => {
            format!("https://example.com/{number}")
        }
        "json-pointer" => format!("/a{number}"),
        "relative-json-pointer" => variant.to_string(),
        "regex" => format!("^a{number}$"),
        "byte" => "b2ZmbGluZQ==".to_owned(),
        _ => return None,
    };
    Some(text)
}

/// Whether a text of the caller's is in that format, as far as it can be told cheaply.
pub(super) fn is_in(format: &str, text: &str) -> bool {
    match format {
        "date" => text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok(),
        "date-time" => text.parse::<jiff::Timestamp>().is_ok(),
        "time" => format!("2026-01-01T{text}")
            .parse::<jiff::Timestamp>()
            .is_ok(),
        "duration" => text.starts_with('P') && text.parse::<jiff::Span>().is_ok(),
        "email" | "idn-email" => text.split_once('@').is_some_and(|(user, host)| {
            !user.is_empty() && is_host(host) && !text.contains(char::is_whitespace)
        }),
        "hostname" | "idn-hostname" => is_host(text),
        "ipv4" => text.parse::<Ipv4Addr>().is_ok(),
        "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
        "uuid" => {
            let is_dash = |at: usize| matches!(at, 8 | 13 | 18 | 23);
            let mut bytes = text.bytes().enumerate();
            let is_right = |(at, byte): (usize, u8)| {
                if is_dash(at) {
                    byte == b'-'
                } else {
                    byte.is_ascii_hexdigit()
                }
            };
            text.len() == 36 && bytes.all(is_right)
        }
        "uri" | "iri" | "url" => Url::parse(text).is_ok() && !text.contains(char::is_whitespace),
        "json-pointer" => text.is_empty() || text.starts_with('/'),
        "relative-json-pointer" => text.starts_with(|first: char| first.is_ascii_digit()),
        "regex" => regex::Regex::new(text).is_ok(),
        _ => true,
    }
}

fn is_host(text: &str) -> bool {
    let is_label = |label: &str| {
        let is_part = |char: char| char.is_alphanumeric() || char == '-';
        !label.is_empty() && label.len() < 64 && label.chars().all(is_part)
    };
    text.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_are_in_their_format_and_prose_is_not() {
        for format in [
            "date",
            "date-time",
            "time",
            "duration",
            "email",
            "hostname",
            "ipv4",
            "ipv6",
            "uuid",
            "uri",
            "json-pointer",
            "relative-json-pointer",
        ] {
            for variant in 0..40 {
                let text = example(format, variant).unwrap();
                assert!(is_in(format, &text), "{format}: {text}");
            }
            assert!(!is_in(format, "some prose"), "{format}");
        }
        assert!(is_in("regex", "^a$") && !is_in("regex", "("));
        assert!(is_in("unheard-of", "some prose"));
        assert_eq!(example("unheard-of", 0), None);
    }
}
