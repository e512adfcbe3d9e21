//! What a caller asked to have of a document, kept to whoever reads it (`interface.md` 7.3).

use std::collections::HashSet;

use domain::{
    DocumentFault, Json, OcrImage, OcrPage, OcrPages, OcrRequest,
    seams::{ProviderError, ProviderErrorKind as Kind},
};
use serde_json::{Value, json};

use super::source::fault;

/// How many bytes of an answer there may be.
const MAX_ANSWER: usize = 100 * 1024 * 1024;
/// Where the `data` of a table's element has its cells.
const TABLE_CELLS: &str = "table_cells";

/// The pages that a caller named, ascending and without duplicates; `None` if it named none.
pub(super) fn wanted(pages: &[u32]) -> Option<Vec<u32>> {
    let mut pages = pages.to_vec();
    pages.sort_unstable();
    pages.dedup();
    Some(pages).filter(|pages| !pages.is_empty())
}

/// Leaves the pages and the pictures that were asked for, whatever came.
pub(super) fn keep(pages: &mut Vec<OcrPage>, request: &OcrRequest) {
    pages.sort_by_key(|page| page.index);
    pages.dedup_by_key(|page| page.index);
    if let Some(wanted) = &request.pages {
        pages.retain(|page| wanted.binary_search(&page.index).is_ok());
    }
    for page in pages {
        keep_images(page, request);
    }
}

/// Leaves the pages that the document has, and says in the answer's settings which of them did not come: what is missing
/// without a word is taken for read.
///
/// # Errors
/// `Protocol` where nothing came at all.
pub(super) fn tell_missing(came: &mut OcrPages, expected: &[u32]) -> Result<(), ProviderError> {
    const ERRORS: &str = "errors";
    came.pages
        .retain(|page| expected.binary_search(&page.index).is_ok());
    if came.pages.is_empty() {
        let words = "the host answered without a page of the document";
        return Err(ProviderError::new(Kind::Protocol, words));
    }
    let told = came.applied_settings.get(ERRORS).map(Json::to_value);
    let mut errors = match told {
        Some(Value::Array(errors)) => errors,
        _ => Vec::new(),
    };
    let mut here: HashSet<u32> = came.pages.iter().map(|page| page.index).collect();
    let known = errors.iter().filter_map(|error| error["page"].as_u64());
    here.extend(known.filter_map(|page| u32::try_from(page).ok()));
    let missing = expected.iter().filter(|page| !here.contains(page));
    errors.extend(
        missing.map(|page| json!({"page": page, "message": "the host answered without this page"})),
    );
    if !errors.is_empty() {
        came.applied_settings
            .insert(ERRORS.to_owned(), Json::of(&errors));
    }
    Ok(())
}

fn keep_images(page: &mut OcrPage, request: &OcrRequest) {
    let least = request.image_min_size.unwrap_or(0);
    let is_large = |image: &OcrImage| {
        let (width, height) = image.size.unwrap_or_else(|| {
            let bbox = image.bbox;
            (pixels(bbox.width()), pixels(bbox.height()))
        });
        width >= least && height >= least
    };
    // The first ones are those that the text names first, in whatever order they came.
    let place = |image: &OcrImage| page.markdown.find(&OcrImage::mark(&image.id));
    let mut images = std::mem::take(&mut page.images);
    images.sort_by_key(|image| place(image).unwrap_or(usize::MAX));
    page.images = images;
    let most = request.image_limit.map_or(usize::MAX, |most| most as usize);
    let kept: HashSet<String> = {
        let large = page.images.iter().filter(|image| is_large(image));
        large.take(most).map(|image| image.id.clone()).collect()
    };
    let (kept, dropped) = std::mem::take(&mut page.images)
        .into_iter()
        .partition(|image: &OcrImage| kept.contains(&image.id));
    page.images = kept;
    if !request.with_images {
        for image in &mut page.images {
            image.data_url = None;
        }
    }
    for image in &dropped {
        forget(page, &image.id);
    }
}

/// Takes a picture that is not given out of the page's text.
fn forget(page: &mut OcrPage, id: &str) {
    // With what parted it from what follows.
    for (mark, gap) in [
        (OcrImage::mark(id), "\n\n"),
        (OcrImage::html_mark(id), "\n"),
    ] {
        page.markdown = page.markdown.replace(&(mark.clone() + gap), "");
        page.markdown = page.markdown.replace(&mark, "");
    }
    page.markdown = without_tag(&page.markdown, id);
    let mark = OcrImage::mark(id);
    page.markdown.truncate(page.markdown.trim_end().len());
    for element in &mut page.elements {
        if element.text.contains(&mark) {
            let rest = element.text.replace(&mark, "");
            rest.trim().clone_into(&mut element.text);
        }
        if let Some(cells) = element.data.get_mut(TABLE_CELLS)
            && cells.text().contains(&mark)
        {
            *cells = Json::of(&without_mark(&cells.to_value(), &mark));
        }
        let is_its = |value: &Json| value.to_value() == id;
        if element.data.get("image_id").is_some_and(is_its) {
            element.data.shift_remove("image_id");
        }
    }
}

/// The cells of a table without a picture's mark in what they say.
fn without_mark(cells: &Value, mark: &str) -> Value {
    let mut cells = cells.clone();
    for cell in cells.as_array_mut().into_iter().flatten() {
        if let Some(Value::String(text)) = cell.get_mut("text") {
            let rest = text.replace(mark, "");
            rest.trim().clone_into(text);
        }
    }
    cells
}

/// The text without a picture's tag, as it stands in tables that are told as HTML.
fn without_tag(text: &str, id: &str) -> String {
    const TAG: &str = "<img";
    let named = [format!("src=\"{id}\""), format!("src='{id}'")];
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(begin) = rest.find(TAG) {
        let end = rest[begin..]
            .find('>')
            .map_or(rest.len(), |end| begin + end + 1);
        kept += &rest[..begin];
        if !named.iter().any(|name| rest[begin..end].contains(name)) {
            kept += &rest[begin..end];
        }
        rest = &rest[end..];
    }
    kept + rest
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float that is too large or negative becomes the nearest whole number"
)]
fn pixels(length: f32) -> u32 {
    length.round() as u32
}

/// Whether what was read can be answered with.
pub(super) fn check_size(pages: &[OcrPage]) -> Result<(), ProviderError> {
    let bytes = |page: &OcrPage| {
        let images = page
            .images
            .iter()
            .filter_map(|image| image.data_url.as_ref());
        let elements = page.elements.iter().map(|element| {
            let data = element.data.values().map(|value| value.text().len());
            element.text.len() + data.sum::<usize>()
        });
        page.markdown.len() + images.map(String::len).sum::<usize>() + elements.sum::<usize>()
    };
    if pages.iter().map(bytes).sum::<usize>() <= MAX_ANSWER {
        return Ok(());
    }
    let reason =
        "the answer would have more than 100 MiB: name fewer `pages`, or leave out the images";
    Err(fault(DocumentFault::Pages, reason))
}

#[cfg(test)]
mod tests {
    use domain::{Bbox, Document, DocumentKind, Element, Json, JsonObject, Label, OcrExtras};

    use super::*;

    fn image(id: &str, size: Option<(u32, u32)>, side: f32) -> OcrImage {
        OcrImage {
            id: id.to_owned(),
            bbox: Bbox {
                l: 10.0,
                t: 10.0,
                r: 10.0 + side,
                b: 10.0 + side,
            },
            size,
            data_url: Some("data:image/png;base64,AAAA".to_owned()),
        }
    }

    fn request(change: impl FnOnce(&mut OcrRequest)) -> OcrRequest {
        let mut request = OcrRequest {
            document: Document {
                kind: DocumentKind::Pdf,
                content: "%PDF-".into(),
                name: None,
                url: None,
            },
            pages: None,
            with_images: true,
            image_limit: None,
            image_min_size: None,
            extras: OcrExtras::default(),
            progress: std::sync::Arc::default(),
        };
        change(&mut request);
        request
    }

    fn page(index: u32) -> OcrPage {
        let picture = |id: &str| Element {
            kind: Label::Picture.kind(),
            label: Label::Picture,
            text: String::new(),
            bbox: Bbox::default(),
            data: JsonObject::from([("image_id".to_owned(), Json::of(&id))]),
        };
        OcrPage {
            index,
            markdown: "One\n\n![img-0.png](img-0.png)\n\nTwo\n\n![img-1.png](img-1.png)".to_owned(),
            images: vec![
                image("img-0.png", Some((40, 300)), 200.0),
                image("img-1.png", None, 120.0),
            ],
            elements: vec![picture("img-0.png"), picture("img-1.png")],
            ..OcrPage::default()
        }
    }

    fn kept(request: &OcrRequest) -> (Vec<String>, String) {
        let mut pages = vec![page(0)];
        keep(&mut pages, request);
        let ids = pages[0].images.iter().map(|image| image.id.clone());
        (ids.collect(), pages[0].markdown.clone())
    }

    #[test]
    fn a_picture_that_is_cut_leaves_tables_too() {
        let cell = |text: &str| json!([{"text": text, "row_span": 1}]);
        let mut page = OcrPage {
            markdown: "<table><tr><td>a <img src=\"img-0.png\" alt=''></td><td><img src='img-1.png'></td></tr></table>"
                .to_owned(),
            ..page(0)
        };
        let element = Element {
            label: Label::Table,
            data: JsonObject::from([(
                TABLE_CELLS.to_owned(),
                Json::of(&cell("x ![img-0.png](img-0.png)")),
            )]),
            ..page.elements[0].clone()
        };
        page.elements = vec![element];

        forget(&mut page, "img-0.png");

        assert_eq!(
            page.markdown,
            "<table><tr><td>a </td><td><img src='img-1.png'></td></tr></table>"
        );
        assert_eq!(page.elements[0].data[TABLE_CELLS].to_value(), cell("x"));
    }

    #[test]
    fn pages_are_named_in_any_order_and_come_ascending() {
        assert_eq!(wanted(&[]), None);
        assert_eq!(wanted(&[3, 1, 3]), Some(vec![1, 3]));

        let mut pages = vec![page(4), page(1), page(1), page(0)];
        keep(
            &mut pages,
            &request(|request| request.pages = Some(vec![0, 1])),
        );
        let indices: Vec<u32> = pages.iter().map(|page| page.index).collect();
        assert_eq!(indices, [0, 1]);
    }

    #[test]
    fn a_picture_is_dropped_when_its_width_or_height_is_too_small() {
        let (ids, markdown) = kept(&request(|request| request.image_min_size = Some(41)));
        assert_eq!(ids, ["img-1.png"]);
        assert_eq!(markdown, "One\n\nTwo\n\n![img-1.png](img-1.png)");

        // Without pixels of its own, its box on the page counts.
        let (ids, markdown) = kept(&request(|request| request.image_min_size = Some(121)));
        assert_eq!(ids, [""; 0]);
        assert_eq!(markdown, "One\n\nTwo");

        let mut told_as_html = page(0);
        told_as_html.markdown = format!(
            "<p>One</p>\n{}\n<p>Two</p>",
            OcrImage::html_mark("img-0.png")
        );
        let mut pages = vec![told_as_html];
        keep(
            &mut pages,
            &request(|request| request.image_min_size = Some(41)),
        );
        assert_eq!(pages[0].markdown, "<p>One</p>\n<p>Two</p>");
    }

    #[test]
    fn the_first_pictures_are_those_that_the_text_names_first() {
        let mut pages = vec![page(0)];
        pages[0].images.reverse();
        pages[0].elements[0].text = "One ![img-1.png](img-1.png)".to_owned();

        keep(
            &mut pages,
            &request(|request| request.image_limit = Some(1)),
        );

        assert_eq!(pages[0].images[0].id, "img-0.png");
        assert_eq!(pages[0].markdown, "One\n\n![img-0.png](img-0.png)\n\nTwo");
        assert_eq!(pages[0].elements[0].text, "One");
    }

    #[test]
    fn what_did_not_come_is_told_and_what_is_not_there_is_left_out() {
        let told = json!([{"page": 2, "message": "it is torn"}]);
        let mut came = OcrPages {
            pages: vec![page(0), page(9)],
            applied_settings: JsonObject::from([("errors".to_owned(), Json::of(&told))]),
            usage: None,
        };

        tell_missing(&mut came, &[0, 1, 2]).unwrap();

        assert_eq!(came.pages.len(), 1);
        let errors = came.applied_settings["errors"].to_value();
        assert_eq!([&errors[0]["page"], &errors[1]["page"]], [2, 1]);
        assert!(errors[2].is_null());
        let nothing = tell_missing(&mut came, &[7]).unwrap_err();
        assert_eq!(nothing.kind, Kind::Protocol);
    }

    #[test]
    fn a_limit_keeps_the_first_pictures_and_nobody_gets_bytes_unasked() {
        let mut pages = vec![page(0)];
        let limited = request(|request| {
            request.image_limit = Some(1);
            request.with_images = false;
        });
        keep(&mut pages, &limited);

        assert_eq!(pages[0].images.len(), 1);
        assert_eq!(pages[0].images[0].id, "img-0.png");
        assert_eq!(pages[0].images[0].data_url, None);
        assert!(pages[0].elements[0].data.contains_key("image_id"));
        assert!(pages[0].elements[1].data.is_empty());
    }
}
