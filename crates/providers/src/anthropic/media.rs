//! What is no text: images, and documents as PDF or as plain text.
//! <https://platform.claude.com/docs/en/build-with-claude/pdf-support>

use base64::{Engine as _, engine::general_purpose::STANDARD};
use domain::{
    Part,
    seams::{ProviderError, ProviderErrorKind, Target},
};
use serde::Serialize;
use url::Url;

/// Types of images, and the name that the dialect has for each.
/// <https://platform.claude.com/docs/en/build-with-claude/vision>
const IMAGE_TYPES: [(&str, &str); 5] = [
    ("image/jpeg", "image/jpeg"),
    ("image/jpg", "image/jpeg"),
    ("image/png", "image/png"),
    ("image/gif", "image/gif"),
    ("image/webp", "image/webp"),
];
const PDF: &str = "application/pdf";
const PLAIN: &str = "text/plain";
/// Types of text beside `text/…`.
const TEXT_TYPES: [&str; 5] = [
    "application/json",
    "application/x-ndjson",
    "application/xml",
    "application/yaml",
    "application/x-yaml",
];
/// Endings of addresses at which there is text. The dialect fetches PDF alone.
const TEXT_ENDINGS: [&str; 10] = [
    "txt", "md", "csv", "tsv", "json", "jsonl", "xml", "html", "yaml", "yml",
];

/// A part that is no text, as a block of the dialect.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Medium<'a> {
    Image { source: Source<'a> },
    Document { source: Source<'a> },
}

/// Where it is.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Source<'a> {
    Base64 {
        media_type: &'a str,
        data: &'a str,
    },
    Url {
        url: &'a str,
    },
    Text {
        media_type: &'static str,
        data: String,
    },
}

/// Whether a part's address is one that the provider would not fetch from.
pub(super) fn needs_bytes(part: &Part) -> bool {
    let Part::File(url) = part else {
        return false;
    };
    let Ok(url) = Url::parse(url) else {
        return false;
    };
    let ending = url.path().rsplit_once('.').map(|(_, ending)| ending);
    let ending = ending.unwrap_or_default().to_ascii_lowercase();
    url.scheme() != "data" && TEXT_ENDINGS.contains(&ending.as_str())
}

/// An image by its address.
pub(super) fn image(url: &str) -> Result<Medium<'_>, ProviderError> {
    let source = match Data::of(url)? {
        None => Source::Url { url },
        Some(Data { media_type, data }) => {
            let row = IMAGE_TYPES
                .iter()
                .find(|(known, _)| media_type.eq_ignore_ascii_case(known));
            let &(_, media_type) = row.ok_or_else(|| {
                invalid(&format!(
                    "an image of the type `{media_type}` cannot be carried: the dialect takes JPEG, PNG, GIF and WebP"
                ))
            })?;
            Source::Base64 { media_type, data }
        }
    };
    Ok(Medium::Image { source })
}

/// A document by its address.
pub(super) fn document(url: &str) -> Result<Medium<'_>, ProviderError> {
    let source = match Data::of(url)? {
        None => Source::Url { url },
        Some(Data { media_type, data }) if media_type == PDF => Source::Base64 { media_type, data },
        Some(Data { media_type, .. }) if is_image(media_type) => return image(url),
        Some(Data { media_type, data }) if is_text(media_type) => {
            let text = STANDARD.decode(data).ok().map(String::from_utf8);
            let Some(Ok(data)) = text else {
                let reason = "a file that is said to be text is none: it is not base64 of UTF-8";
                return Err(invalid(reason));
            };
            let media_type = PLAIN;
            Source::Text { media_type, data }
        }
        Some(Data { media_type, .. }) => {
            return Err(invalid(&format!(
                "a file of the type `{media_type}` cannot be carried: the dialect takes PDF and plain text"
            )));
        }
    };
    Ok(Medium::Document { source })
}

/// That the dialect has no place for sound.
pub(super) fn no_audio(target: &Target) -> ProviderError {
    invalid(&format!(
        "audio cannot be given to the model `{}`: the dialect of `{}` takes text, images and documents",
        target.name, target.provider
    ))
}

fn is_image(media_type: &str) -> bool {
    let kind = media_type.split_once('/').map(|(kind, _)| kind);
    kind.is_some_and(|kind| kind.eq_ignore_ascii_case("image"))
}

fn is_text(media_type: &str) -> bool {
    media_type.starts_with("text/") || TEXT_TYPES.contains(&media_type)
}

/// What is in a `data:` URL.
struct Data<'a> {
    media_type: &'a str,
    data: &'a str,
}

impl<'a> Data<'a> {
    fn of(url: &'a str) -> Result<Option<Self>, ProviderError> {
        let Some(rest) = url.strip_prefix("data:") else {
            return Ok(None);
        };
        let read = rest.split_once(";base64,").map(|(kind, data)| Self {
            media_type: kind.split(';').next().unwrap_or(kind),
            data,
        });
        let read = read.ok_or_else(|| invalid("a `data:` URL has to be one of base64"))?;
        Ok(Some(read))
    }
}

fn invalid(reason: &str) -> ProviderError {
    ProviderError::new(ProviderErrorKind::Invalid, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_text_is_fetched_for_the_provider() {
        let cases = [
            ("https://h/a.txt", true),
            ("https://h/a.CSV?x=.pdf", true),
            ("https://h/a.pdf", false),
            ("https://h/a", false),
            ("data:text/plain;base64,YQ==", false),
        ];

        for (url, needs) in cases {
            assert_eq!(needs_bytes(&Part::File(url.to_owned())), needs, "{url}");
        }
        assert!(!needs_bytes(&Part::Image("https://h/a.txt".to_owned())));
    }

    #[test]
    fn images_go_out_under_the_names_that_the_dialect_has() {
        let cases = [
            ("image/jpg", Some("image/jpeg")),
            ("image/PNG", Some("image/png")),
            ("image/webp;x=y", Some("image/webp")),
            ("image/svg+xml", None),
            ("image/bmp", None),
        ];

        for (given, expected) in cases {
            let url = format!("data:{given};base64,AAAA");
            for medium in [image(&url), document(&url)] {
                let medium = medium.map(|medium| serde_json::to_value(medium).unwrap());
                let kind = medium
                    .as_ref()
                    .map(|medium| medium["source"]["media_type"].as_str());
                match (expected, kind) {
                    (Some(_), Ok(kind)) => assert_eq!(kind, expected),
                    (None, Err(error)) => {
                        let told = format!("an image of the type `{given}` cannot");
                        assert!(error.reason.starts_with(&told), "{}", error.reason);
                    }
                    _ => panic!("{given}: {kind:?}"),
                }
            }
        }
    }

    #[test]
    fn what_cannot_be_carried_is_refused() {
        let refused = [
            "data:application/zip;base64,UEs=",
            "data:text/plain;base64,//8=",
            "data:text/plain;base64,!",
            "data:text/plain,hello",
        ];

        for url in refused {
            let error = document(url).unwrap_err();
            assert_eq!(error.kind, ProviderErrorKind::Invalid, "{url}");
        }
    }
}
