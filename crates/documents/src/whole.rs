//! A document's pages as one answer.

use domain::{Json, OcrImage, OcrPage, OcrPages, Usage};

use crate::{
    reader::{ReadPage, Wanted},
    settings,
};

/// The answer, with the pictures counted over all pages.
pub(crate) fn of(wanted: &Wanted, pages: Vec<ReadPage>) -> OcrPages {
    let applied_settings = settings::applied(wanted, &pages);
    let mut before = 0;
    let pages: Vec<OcrPage> = pages
        .into_iter()
        .map(|read| {
            let mut page = read.page;
            let images = page.images.len();
            if before > 0 {
                renumber(&mut page, before);
            }
            before += images;
            page
        })
        .collect();
    let count = Usage {
        pages: pages.len() as u64,
        ..Usage::default()
    };
    OcrPages {
        pages,
        applied_settings,
        usage: Some(count.into()),
    }
}

/// Gives the pictures of a page the numbers that follow those of the pages before.
fn renumber(page: &mut OcrPage, before: usize) {
    // From the last to the first, so that no new name is taken for an old one.
    for (index, image) in page.images.iter_mut().enumerate().rev() {
        let extension = image.id.rsplit('.').next().unwrap_or_default();
        let id = format!("img-{}.{extension}", before + index);
        let (mark, other) = (OcrImage::mark(&image.id), OcrImage::mark(&id));
        page.markdown = page.markdown.replace(&mark, &other);
        for element in &mut page.elements {
            if let Some(value) = element.data.get_mut("image_id")
                && value.to_value() == image.id.as_str()
            {
                *value = Json::of(&id);
            }
        }
        image.id = id;
    }
}
