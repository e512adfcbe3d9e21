//! Files that are no document, or one that nobody may read.

use crate::documents::{
    Made,
    chance::Chance,
    lock::Lock,
    page::{Look, prose_sheet},
    pdf::Volume,
    prose::{Letters, Prose},
    raw::{Additions, Raw, either, refused},
};

/// Nothing of it can be read without a word that is not known.
pub(crate) fn user_password(chance: &mut Chance) -> Made {
    let mut volume = prose(chance, 1);
    let id = chance.bytes(16).try_into().expect("sixteen bytes");
    volume.lock = Some(Lock::new(id, "open sesame", "only the owner"));
    refused("pdf", volume.to_bytes(), &["document_encrypted"])
}

pub(crate) fn zero_pages(chance: &mut Chance) -> Made {
    let mut raw = Raw::new(chance, &Additions::default());
    raw.replace(2, "<</Type/Pages/Kids[]/Count 0>>");
    raw.refused(&["invalid_document"])
}

pub(crate) fn empty(_: &mut Chance) -> Made {
    refused("pdf", Vec::new(), &["invalid_document"])
}

pub(crate) fn garbage(chance: &mut Chance) -> Made {
    let mut bytes = chance.bytes(20_000);
    // Never by chance what some kind of file begins with.
    bytes[0] = 0;
    refused("pdf", bytes, &["unsupported_document"])
}

pub(crate) fn garbage_with_mark(chance: &mut Chance) -> Made {
    let bytes = [b"%PDF-1.7\n".to_vec(), chance.bytes(20_000)].concat();
    refused("pdf", bytes, &["invalid_document"])
}

pub(crate) fn html(chance: &mut Chance) -> Made {
    let text = Prose::new(chance, Letters::Plain).paragraph(3);
    let page = format!("<!doctype html>\n<html><body><p>{text}</p></body></html>\n");
    refused("pdf", page.into_bytes(), &["unsupported_document"])
}

/// The end is missing, and with it the list of objects; the first page is all there.
pub(crate) fn cut(chance: &mut Chance) -> Made {
    let mut volume = prose(chance, 4);
    volume.modern = false;
    let mut bytes = volume.to_bytes();
    bytes.truncate(bytes.len() * 9 / 10);
    either("pdf", bytes, vec![volume.leaves[0].sheet.truth(0)])
}

fn prose(chance: &mut Chance, pages: u32) -> Volume {
    let look = Look::new(chance, 9.0);
    let sheets: Vec<_> = (0..pages)
        .map(|_| prose_sheet(chance, &look, Letters::Plain))
        .collect();
    Volume::new(chance, sheets)
}
