//! How the names of documents end, by their media types.

/// Documents that some provider reads: <https://platform.openai.com/docs/guides/pdf-files>,
/// <https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_DocumentBlock.html>.
static ENDINGS: [(&str, &str); 19] = [
    ("application/pdf", "pdf"),
    ("text/plain", "txt"),
    ("text/markdown", "md"),
    ("text/x-markdown", "md"),
    ("text/csv", "csv"),
    ("text/html", "html"),
    ("application/json", "json"),
    ("application/xml", "xml"),
    ("text/xml", "xml"),
    ("application/msword", "doc"),
    (
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "docx",
    ),
    ("application/vnd.ms-excel", "xls"),
    (
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "xlsx",
    ),
    ("application/vnd.ms-powerpoint", "ppt"),
    (
        "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        "pptx",
    ),
    ("application/rtf", "rtf"),
    ("text/rtf", "rtf"),
    ("application/vnd.oasis.opendocument.text", "odt"),
    ("application/epub+zip", "epub"),
];

/// How the name of a document of that type ends, if that is known; any other text is one.
pub(crate) fn of(media_type: &str) -> Option<&'static str> {
    let mut endings = ENDINGS.iter();
    let known = endings.find(|(kind, _)| kind.eq_ignore_ascii_case(media_type));
    let is_text = || media_type.starts_with("text/").then_some("txt");
    known.map(|(_, ending)| *ending).or_else(is_text)
}
