//! What fetched bytes are: what their host says, and what they show themselves where that says nothing of use.

use domain::Part;

/// What hosts say of bytes that they know nothing of.
const UNKNOWN: [&str; 7] = [
    "",
    "application/octet-stream",
    "application/x-octet-stream",
    "application/unknown",
    "application/x-download",
    "application/force-download",
    "binary/octet-stream",
];
/// Types under the names that dialects know them by.
const USUAL: [(&str, &str); 3] = [
    ("audio/m4a", "audio/mp4"),
    ("audio/x-flac", "audio/flac"),
    ("audio/x-wav", "audio/wav"),
];

/// The media type of a part's bytes; the error says what is wrong with them.
///
/// A host that names the wrong type is believed unless the part says otherwise: a document may be of any type.
pub(super) fn media_type(part: &Part, told: Option<&str>, bytes: &[u8]) -> Result<String, String> {
    let told = told.and_then(|told| told.split(';').next());
    let told = told.map(|told| told.trim().to_ascii_lowercase());
    let told = told.filter(|told| !UNKNOWN.contains(&told.as_str()));
    if let Some(told) = told.as_ref().filter(|told| is_of(part, told)) {
        return Ok(told.clone());
    }
    let shown = infer::get(bytes).map(|kind| kind.mime_type());
    let shown = shown.filter(|shown| is_of(part, shown));
    match (part, told, shown) {
        (Part::Image(_) | Part::Audio(_), _, Some(shown)) => Ok(usual(shown)),
        (Part::Image(_), Some(told), None) if told.starts_with("text/") => {
            Err(format!("what is there is no image but `{told}`"))
        }
        (Part::Audio(_), Some(told), None) if told.starts_with("text/") => {
            Err(format!("what is there is no sound but `{told}`"))
        }
        // Such as a PDF as an image: the provider may know what to do with it.
        (_, Some(told), _) => Ok(told),
        (Part::Image(_), None, None) => Err("what is there is no known kind of image".to_owned()),
        (Part::Audio(_), None, None) => Err("what is there is no known kind of sound".to_owned()),
        // The marks of some types are two letters long, with which a text may begin as well.
        (_, None, shown) => Ok(match shown {
            Some(shown) if shown == "application/pdf" || !is_text(bytes) => usual(shown),
            _ if is_text(bytes) => "text/plain".to_owned(),
            _ => "application/octet-stream".to_owned(),
        }),
    }
}

/// Whether bytes of that type are what the part says that they are. Sound comes in the same containers as films.
fn is_of(part: &Part, media_type: &str) -> bool {
    let begins = |with: &str| media_type.starts_with(with);
    match part {
        Part::Image(_) => begins("image/"),
        Part::Audio(_) => begins("audio/") || begins("video/") || media_type == "application/ogg",
        Part::File(_) | Part::Text(_) => true,
    }
}

fn is_text(bytes: &[u8]) -> bool {
    !bytes.contains(&0) && std::str::from_utf8(bytes).is_ok()
}

fn usual(shown: &str) -> String {
    let row = USUAL.iter().find(|(name, _)| *name == shown);
    row.map_or(shown, |(_, usual)| usual).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
    const WAV: &[u8] = b"RIFF\x24\0\0\0WAVEfmt ";
    const MP3: &[u8] = b"ID3\x04\0\0\0\0\0\0";
    const PDF: &[u8] = b"%PDF-1.4\n";

    #[test]
    fn bytes_are_what_their_host_says_or_what_they_show() {
        let image = || Part::Image(String::new());
        let sound = || Part::Audio(String::new());
        let file = || Part::File(String::new());
        let unknown = Some("application/octet-stream");
        let cases = [
            (image(), Some("image/JPEG; q=1"), PNG, Ok("image/jpeg")),
            (image(), None, PNG, Ok("image/png")),
            (image(), unknown, PNG, Ok("image/png")),
            (image(), Some("text/plain"), PNG, Ok("image/png")),
            (image(), Some("application/pdf"), PDF, Ok("application/pdf")),
            (
                image(),
                Some("text/html; charset=utf-8"),
                b"<!DOCTYPE html>",
                Err("what is there is no image but `text/html`"),
            ),
            (
                image(),
                None,
                b"hello",
                Err("what is there is no known kind of image"),
            ),
            (sound(), None, WAV, Ok("audio/wav")),
            (sound(), unknown, MP3, Ok("audio/mpeg")),
            (sound(), Some("video/mp4"), MP3, Ok("video/mp4")),
            (
                sound(),
                None,
                PNG,
                Err("what is there is no known kind of sound"),
            ),
            (file(), None, PDF, Ok("application/pdf")),
            (file(), Some("binary/octet-stream"), PNG, Ok("image/png")),
            (file(), Some("text/csv"), b"a,b", Ok("text/csv")),
            (file(), None, b"BMW, Audi", Ok("text/plain")),
            (
                file(),
                None,
                b"\x01\x02\xff",
                Ok("application/octet-stream"),
            ),
        ];

        for (part, told, bytes, expected) in cases {
            let read = media_type(&part, told, bytes);
            let expected = expected.map(str::to_owned).map_err(str::to_owned);
            assert_eq!(read, expected, "{part:?} {told:?} {bytes:?}");
        }
    }
}
