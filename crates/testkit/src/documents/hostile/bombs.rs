//! Small files that become large, or much work, for those who believe them.

use flate2::{Compress, Compression, FlushCompress};

use crate::documents::{
    Made,
    chance::Chance,
    picture::deflate,
    raw::{Additions, Raw, either, stream},
    truth::PageTruth,
};

/// 2 GiB of spaces to draw, compressed twice: some kilobytes.
pub(crate) fn content(chance: &mut Chance) -> Made {
    let mut raw = Raw::new(chance, &Additions::default());
    let bomb = deflate(&deflated_run(b' ', 2048));
    raw.replace(5, stream("/Filter[/FlateDecode/FlateDecode]", &bomb));
    let blank = PageTruth {
        blocks: Vec::new(),
        ..raw.page()
    };
    either("pdf", raw.file().0, vec![blank])
}

/// A picture of 900 megapixels, all of them there.
pub(crate) fn image(chance: &mut Chance) -> Made {
    let additions = Additions {
        resources: "/XObject<</X 6 0 R>>",
        content: b"q 300 0 0 300 72 72 cm /X Do Q",
        ..Additions::default()
    };
    let mut raw = Raw::new(chance, &additions);
    let members = "/Type/XObject/Subtype/Image/Width 30720/Height 30720/BitsPerComponent 8\
                   /ColorSpace/DeviceGray/Filter/FlateDecode";
    raw.add(stream(members, &deflated_run(0x80, 900)));
    raw.either()
}

/// A thousand filters, one after the other.
pub(crate) fn filters(chance: &mut Chance) -> Made {
    let mut raw = Raw::new(chance, &Additions::default());
    let members = format!("/Filter[{}]", "/FlateDecode".repeat(1000));
    raw.replace(5, stream(&members, &chance.bytes(500)));
    raw.anything()
}

/// Millions of lines across the page.
pub(crate) fn paths(chance: &mut Chance) -> Made {
    let line = b"0 0 m 600 700 l S\n".repeat(1_000_000);
    let mut raw = Raw::new(chance, &Additions::default());
    let shown = raw.objects[4].clone();
    let from = shown.windows(3).position(|bytes| bytes == b"BT ");
    let to = shown.windows(3).position(|bytes| bytes == b" ET");
    let (from, to) = from.zip(to).expect("the page shows a text");
    let content = [line, shown[from..to + 3].to_vec()].concat();
    raw.replace(5, stream("/Filter/FlateDecode", &deflate(&content)));
    raw.anything()
}

/// An array in an array in an array, two hundred thousand times.
pub(crate) fn deep_arrays(chance: &mut Chance) -> Made {
    const DEPTH: usize = 200_000;
    let member = format!("/Deep {}{}", "[".repeat(DEPTH), "]".repeat(DEPTH));
    let additions = Additions {
        page: &member,
        ..Additions::default()
    };
    Raw::new(chance, &additions).either()
}

/// The same where a page is drawn, with states saved and never restored.
pub(crate) fn deep_content(chance: &mut Chance) -> Made {
    let deep = [b"[".repeat(200_000), b"]".repeat(200_000)].concat();
    let content = [b"q ".repeat(300_000), deep, b" TJ".to_vec()].concat();
    let additions = Additions {
        content: &content,
        ..Additions::default()
    };
    Raw::new(chance, &additions).either()
}

/// The same page a hundred thousand times.
pub(crate) fn pages(chance: &mut Chance) -> Made {
    let mut raw = Raw::new(chance, &Additions::default());
    let kids = "3 0 R ".repeat(100_000);
    raw.replace(2, format!("<</Type/Pages/Kids[{kids}]/Count 100000>>"));
    raw.refused(&["document_too_large", "invalid_pages", "document_rejected"])
}

/// So many mebibytes of one byte, compressed: one piece of a mebibyte, again and again.
fn deflated_run(byte: u8, mebibytes: u32) -> Vec<u8> {
    const PIECE: usize = 1 << 20;
    let mut compress = Compress::new(Compression::best(), false);
    let mut piece = Vec::with_capacity(PIECE);
    compress
        .compress_vec(&vec![byte; PIECE], &mut piece, FlushCompress::Full)
        .expect("a run of one byte can be compressed");
    let mut bytes = vec![0x78, 0x9c];
    bytes.extend(piece.repeat(mebibytes as usize));
    // An empty last block, then the sum over what was compressed (RFC 1950, 1951).
    bytes.extend([0x03, 0x00]);
    bytes.extend(adler_of_run(byte, u64::from(mebibytes) << 20).to_be_bytes());
    bytes
}

/// Adler-32 of so many equal bytes.
fn adler_of_run(byte: u8, length: u64) -> u32 {
    const PRIME: u128 = 65_521;
    let (byte, length) = (u128::from(byte), u128::from(length));
    let low = (1 + byte * length) % PRIME;
    let high = (length + byte * (length * (length + 1) / 2)) % PRIME;
    u32::try_from(high << 16 | low).expect("both are below 2^16")
}

#[cfg(test)]
mod tests {
    use std::io::{Read, copy, sink};

    use flate2::read::ZlibDecoder;

    use super::*;

    #[test]
    fn a_run_is_what_it_says() {
        let run = deflated_run(b' ', 3);

        let mut all = Vec::new();
        ZlibDecoder::new(&run[..]).read_to_end(&mut all).unwrap();
        assert_eq!(all, vec![b' '; 3 << 20]);
        let length = copy(&mut ZlibDecoder::new(&run[..]), &mut sink()).unwrap();
        assert_eq!(length, 3 << 20);
    }
}
