//! Blocks written as a page's markdown, elements and images.

use domain::{
    Bbox, Dimensions, Element, Json, JsonObject, Label, OcrImage, OcrPage, TableCell, table_data,
};

use super::{
    PageSource, Wanted,
    ink::PlacedImage,
    layout::{Block, Detail, Table},
    markdown,
};

/// A page of blocks in reading order, and pictures by the index that blocks know them by.
pub(super) fn page(
    index: u32,
    dimensions: Dimensions,
    mut blocks: Vec<Block>,
    pictures: Vec<PlacedImage>,
    wanted: &Wanted,
    source: PageSource,
) -> OcrPage {
    for block in &mut blocks {
        let stays = match block.label {
            Label::PageHeader => !wanted.extract_header,
            Label::PageFooter => !wanted.extract_footer,
            _ => false,
        };
        if stays {
            block.label = Label::Text;
        }
    }
    let (images, names) = named(&blocks, pictures, wanted);
    OcrPage {
        index,
        markdown: markdown::of(&blocks, &names, wanted.table_format),
        dimensions: Some(dimensions),
        images,
        elements: blocks
            .into_iter()
            .map(|block| element(block, &names, source))
            .collect(),
    }
}

/// The pictures that are wanted, in reading order, and the names of all, where they have one.
fn named(
    blocks: &[Block],
    pictures: Vec<PlacedImage>,
    wanted: &Wanted,
) -> (Vec<OcrImage>, Vec<Option<String>>) {
    let mut names = vec![None; pictures.len()];
    let mut images = Vec::new();
    let limit = wanted.image_limit.unwrap_or(u32::MAX) as usize;
    let least = wanted.image_min_size.unwrap_or(1);
    let mut pictures: Vec<Option<PlacedImage>> = pictures.into_iter().map(Some).collect();
    for block in blocks {
        let Detail::Picture(index) = block.detail else {
            continue;
        };
        let Some(picture) = pictures.get_mut(index).and_then(Option::take) else {
            continue;
        };
        let large = picture.size.0.min(picture.size.1) >= least;
        if !large || images.len() >= limit {
            continue;
        }
        let extension = picture.extension();
        let id = format!("img-{}.{extension}", images.len());
        names[index] = Some(id.clone());
        images.push(OcrImage {
            id,
            bbox: picture.bbox,
            size: Some(picture.size),
            data_url: picture
                .export
                .filter(|_| wanted.with_images)
                .map(|export| export.data_url()),
        });
    }
    (images, names)
}

fn element(block: Block, names: &[Option<String>], source: PageSource) -> Element {
    let mut data = JsonObject::new();
    match &block.detail {
        Detail::None => {}
        Detail::Level(level) => {
            data.insert("level".to_owned(), Json::of(level));
        }
        Detail::Marker {
            text, enumerated, ..
        } => {
            data.insert("enumerated".to_owned(), Json::of(enumerated));
            data.insert("marker".to_owned(), Json::of(text));
        }
        Detail::Table(table) => data.extend(data_of(table)),
        Detail::Picture(index) => {
            if let Some(Some(name)) = names.get(*index) {
                data.insert("image_id".to_owned(), Json::of(name));
            }
        }
    }
    if !matches!(block.label, Label::Picture) {
        if let Some(confidence) = block.confidence {
            let rounded = (f64::from(confidence) * 1000.0).round() / 1000.0;
            data.insert("confidence".to_owned(), Json::of(&rounded));
        }
        data.insert("source".to_owned(), Json::of(&source));
    }
    Element {
        kind: block.label.kind(),
        label: block.label,
        text: block.text,
        bbox: rounded(block.bbox),
        data,
    }
}

/// To a tenth of a pixel: more would be noise.
fn rounded(bbox: Bbox) -> Bbox {
    let round = |value: f32| (value * 10.0).round() / 10.0;
    Bbox {
        l: round(bbox.l),
        t: round(bbox.t),
        r: round(bbox.r),
        b: round(bbox.b),
    }
}

fn data_of(table: &Table) -> JsonObject {
    let cells = table.cells.iter().map(|cell| TableCell {
        text: &cell.text,
        row: cell.row,
        column: cell.column,
        row_span: cell.row_span,
        column_span: cell.column_span,
        is_column_header: cell.is_header,
        is_row_header: false,
    });
    table_data(table.rows, table.columns, cells)
}
