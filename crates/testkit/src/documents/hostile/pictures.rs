//! Picture files that claim what they do not hold.

use domain::DocumentKind;

use crate::documents::{
    Made,
    chance::Chance,
    encode::file,
    page::{Look, prose_sheet},
    picture::deflate,
    prose::Letters,
    raw::{either, refused},
    scan::raster,
};

const TOO_LARGE: &[&str] = &["document_too_large", "document_rejected"];
/// As above, for those that say it where no pixel can follow.
const TOO_LARGE_OR_BROKEN: &[&str] = &[
    "document_too_large",
    "document_rejected",
    "invalid_document",
];

pub(crate) fn png_huge(_: &mut Chance) -> Made {
    refused("png", png(60_000, 60_000), TOO_LARGE)
}

pub(crate) fn png_without_pixels(_: &mut Chance) -> Made {
    refused("png", png(0, 0), &["invalid_document"])
}

/// The lower part of the page is missing.
pub(crate) fn png_cut(chance: &mut Chance) -> Made {
    let mut bytes = page(chance, DocumentKind::Png).0;
    bytes.truncate(bytes.len() * 6 / 10);
    either("png", bytes, Vec::new())
}

pub(crate) fn jpeg_huge(chance: &mut Chance) -> Made {
    let mut bytes = page(chance, DocumentKind::Jpeg).0;
    // The frame's head: mark, length, precision, then height and width.
    let frame = bytes.windows(2).position(|mark| mark == [0xff, 0xc0]);
    let size = frame.expect("a JPEG has a frame") + 5;
    bytes[size..size + 4].copy_from_slice(&[0xff, 0xdc, 0xff, 0xdc]);
    refused("jpg", bytes, TOO_LARGE)
}

pub(crate) fn gif_huge(chance: &mut Chance) -> Made {
    let head = b"GIF89a\xff\xff\xff\xff\x80\x00\x00\x00\x00\x00\xff\xff\xff";
    let frame = b"\x2c\x00\x00\x00\x00\xff\xff\xff\xff\x00\x08\xff";
    let bytes = [
        head.to_vec(),
        frame.to_vec(),
        chance.bytes(255),
        vec![0, 0x3b],
    ]
    .concat();
    refused("gif", bytes, TOO_LARGE)
}

pub(crate) fn bmp_huge(chance: &mut Chance) -> Made {
    let mut bytes = b"BM\x00\x10\x00\x00\x00\x00\x00\x00\x36\x00\x00\x00\x28\x00\x00\x00".to_vec();
    bytes.extend(50_000_u32.to_le_bytes());
    bytes.extend(50_000_u32.to_le_bytes());
    bytes.extend([1, 0, 24, 0]);
    bytes.extend([0; 24]);
    bytes.extend(chance.bytes(4000));
    refused("bmp", bytes, TOO_LARGE)
}

pub(crate) fn tiff_huge(chance: &mut Chance) -> Made {
    let mut bytes = page(chance, DocumentKind::Tiff).0;
    let directory = directory(&bytes);
    let entries = usize::from(u16::from_le_bytes([bytes[directory], bytes[directory + 1]]));
    for entry in 0..entries {
        let at = directory + 2 + entry * 12;
        // Tags 256 and 257: width and height, here as 32 bits.
        if matches!([bytes[at], bytes[at + 1]], [0 | 1, 1]) {
            bytes[at + 2..at + 4].copy_from_slice(&[4, 0]);
            bytes[at + 8..at + 12].copy_from_slice(&70_000_u32.to_le_bytes());
        }
    }
    refused("tiff", bytes, TOO_LARGE_OR_BROKEN)
}

/// After the last page comes the first.
pub(crate) fn tiff_loop(chance: &mut Chance) -> Made {
    let (mut bytes, truth) = page(chance, DocumentKind::Tiff);
    let directory = directory(&bytes);
    let entries = usize::from(u16::from_le_bytes([bytes[directory], bytes[directory + 1]]));
    let next = directory + 2 + entries * 12;
    let own: [u8; 4] = bytes[4..8].try_into().expect("four bytes");
    bytes[next..next + 4].copy_from_slice(&own);
    either("tiff", bytes, vec![truth])
}

fn page(chance: &mut Chance, kind: DocumentKind) -> (Vec<u8>, crate::documents::PageTruth) {
    let look = Look::new(chance, 10.0);
    let sheet = prose_sheet(chance, &look, Letters::Plain);
    let image = raster(&sheet, 120);
    (file(kind, &[image], 120), sheet.truth(0))
}

/// Where the first directory of a little-endian TIFF begins.
fn directory(bytes: &[u8]) -> usize {
    let place = bytes[4..8].try_into().expect("four bytes");
    u32::from_le_bytes(place) as usize
}

/// A PNG of this size with no more pixels than fit into a few bytes.
fn png(width: u32, height: u32) -> Vec<u8> {
    let mut head = [width.to_be_bytes(), height.to_be_bytes()].concat();
    head.extend([8, 0, 0, 0, 0]);
    let mut bytes = b"\x89PNG\r\n\x1a\n".to_vec();
    for (kind, content) in [
        (b"IHDR", head),
        (b"IDAT", deflate(&[0; 64])),
        (b"IEND", Vec::new()),
    ] {
        let length = u32::try_from(content.len()).expect("a few bytes");
        let checked = [kind.to_vec(), content].concat();
        bytes.extend(length.to_be_bytes());
        bytes.extend(&checked);
        bytes.extend(crc32fast::hash(&checked).to_be_bytes());
    }
    bytes
}
