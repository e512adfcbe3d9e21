//! What a request's settings mean here, and what is said of those that were used.

use std::{collections::BTreeMap, path::PathBuf};

use domain::{Json, JsonObject, OcrRequest};

use crate::reader::{PageNotes, PageSource, ReadPage, TableFormat, Wanted};

/// How the pages of a request are to be read.
pub(crate) fn wanted(request: &OcrRequest, languages: &str, tesseract: Option<PathBuf>) -> Wanted {
    let (mistral, docling) = (&request.extras.mistral, &request.extras.docling);
    let is_on = |name: &str| {
        let value = mistral.get(name).or_else(|| docling.get(name));
        value.is_some_and(|value| value.text() == "true")
    };
    let html = mistral
        .get("table_format")
        .is_some_and(|value| value.text() == "\"html\"");
    Wanted {
        force_ocr: is_on("force_ocr"),
        table_format: if html {
            TableFormat::Html
        } else {
            TableFormat::Markdown
        },
        extract_header: is_on("extract_header"),
        extract_footer: is_on("extract_footer"),
        with_images: request.with_images,
        image_limit: request.image_limit,
        image_min_size: request.image_min_size,
        languages: languages.to_owned(),
        tesseract,
    }
}

/// What was used, and what was done to which page.
pub(crate) fn applied(wanted: &Wanted, pages: &[ReadPage]) -> JsonObject {
    let mut settings = JsonObject::new();
    let mut set = |name: &str, value: Json| settings.insert(name.to_owned(), value);
    set("force_ocr", Json::of(&wanted.force_ocr));
    set("table_format", Json::of(&wanted.table_format));
    set("extract_header", Json::of(&wanted.extract_header));
    set("extract_footer", Json::of(&wanted.extract_footer));
    let those = |noted: &dyn Fn(&PageNotes) -> bool| -> Vec<u32> {
        let pages = pages.iter().filter(|page| noted(&page.notes));
        pages.map(|page| page.page.index).collect()
    };
    let recognised = those(&|notes| notes.source == PageSource::Ocr);
    if !recognised.is_empty() {
        set("ocr_engine", Json::of(&"tesseract"));
        set("lang", Json::of(&wanted.languages));
    }
    set("ocr_pages", Json::of(&recognised));
    let cut_short = those(&|notes| notes.is_cut_short);
    if !cut_short.is_empty() {
        set("incomplete_pages", Json::of(&cut_short));
    }
    let of_pages = |value: &dyn Fn(&PageNotes) -> Option<Json>| -> BTreeMap<u32, Json> {
        let noted = |page: &ReadPage| Some((page.page.index, value(&page.notes)?));
        pages.iter().filter_map(noted).collect()
    };
    let notes = [
        (
            "rotation",
            of_pages(&|notes| (notes.rotation != 0).then(|| Json::of(&notes.rotation))),
        ),
        (
            "deskew",
            of_pages(&|notes| (notes.deskew != 0.0).then(|| Json::of(&notes.deskew))),
        ),
        (
            "preprocessing",
            of_pages(&|notes| {
                (!notes.preprocessing.is_empty()).then(|| Json::of(&notes.preprocessing))
            }),
        ),
        (
            "confidence",
            of_pages(&|notes| notes.confidence.map(|sure| Json::of(&sure))),
        ),
    ];
    for (name, values) in notes {
        if !values.is_empty() {
            set(name, Json::of(&values));
        }
    }
    let dpi: BTreeMap<u32, u32> = pages
        .iter()
        .map(|page| (page.page.index, page.notes.dpi))
        .collect();
    let mut resolutions = dpi.values();
    let first = resolutions.next().copied();
    if resolutions.all(|dpi| Some(*dpi) == first) {
        set("dpi", Json::of(&first));
    } else {
        set("dpi", Json::of(&dpi));
    }
    settings
}
