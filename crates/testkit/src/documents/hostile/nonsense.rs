//! Documents that say what cannot be.

use crate::documents::{
    Made,
    chance::Chance,
    raw::{Additions, Raw, either, stream},
    truth::PageTruth,
};

/// A page of seventy metres.
pub(crate) fn huge_box(chance: &mut Chance) -> Made {
    let additions = Additions {
        media_box: Some("[0 0 200000 200000]"),
        ..Additions::default()
    };
    Raw::new(chance, &additions).either()
}

pub(crate) fn empty_box(chance: &mut Chance) -> Made {
    let additions = Additions {
        media_box: Some("[100 100 100 100]"),
        ..Additions::default()
    };
    // Whether a reader falls back on some usual page is its own affair.
    Raw::new(chance, &additions).anything()
}

pub(crate) fn user_unit(chance: &mut Chance) -> Made {
    let unit = chance.pick(&["1000000000", "-3", "0", "0.0000001"]);
    let member = format!("/UserUnit {unit}");
    let additions = Additions {
        page: &member,
        ..Additions::default()
    };
    Raw::new(chance, &additions).either()
}

/// One page, and a count of a hundred thousand.
pub(crate) fn page_count(chance: &mut Chance) -> Made {
    let mut raw = Raw::new(chance, &Additions::default());
    raw.replace(2, "<</Type/Pages/Kids[3 0 R]/Count 100000>>");
    raw.either()
}

/// The text can be read from its codes, and cannot be drawn.
pub(crate) fn font(chance: &mut Chance) -> Made {
    let additions = Additions {
        font: Some(
            "<</Type/Font/Subtype/TrueType/BaseFont/ABCDEF+Nonsense/Encoding/WinAnsiEncoding\
             /FontDescriptor 6 0 R>>",
        ),
        ..Additions::default()
    };
    let mut raw = Raw::new(chance, &additions);
    raw.add(
        b"<</Type/FontDescriptor/FontName/ABCDEF+Nonsense/Flags 32/FontBBox[0 0 1000 1000]\
          /ItalicAngle 0/Ascent 700/Descent -200/CapHeight 700/StemV 80/FontFile2 7 0 R>>"
            .to_vec(),
    );
    let file = [b"\x00\x01\x00\x00\x00\x0a".to_vec(), chance.bytes(9000)].concat();
    raw.add(stream("/Length1 9006", &file));
    raw.either()
}

/// Ten thousand million pixels, and a few bytes.
pub(crate) fn image_claims(chance: &mut Chance) -> Made {
    let bytes = chance.bytes(40);
    let members = "/Width 100000/Height 100000/BitsPerComponent 8/ColorSpace/DeviceRGB";
    with_image(chance, members, &bytes, true)
}

pub(crate) fn image_without_pixels(chance: &mut Chance) -> Made {
    let members = "/Width 0/Height 0/BitsPerComponent 8/ColorSpace/DeviceGray";
    with_image(chance, members, b"", true)
}

pub(crate) fn jbig2(chance: &mut Chance) -> Made {
    let bytes = chance.bytes(3000);
    let members =
        "/Width 1200/Height 1600/BitsPerComponent 1/ColorSpace/DeviceGray/Filter/JBIG2Decode";
    with_image(chance, members, &bytes, false)
}

pub(crate) fn jpx(chance: &mut Chance) -> Made {
    let mut bytes = b"\x00\x00\x00\x0cjP  \r\n\x87\n\xff\x4f\xff\x51".to_vec();
    bytes.extend(chance.bytes(3000));
    let members = "/Width 1200/Height 1600/Filter/JPXDecode";
    with_image(chance, members, &bytes, false)
}

pub(crate) fn ccitt(chance: &mut Chance) -> Made {
    let bytes = chance.bytes(3000);
    let members = "/Width 2147483647/Height 2147483647/BitsPerComponent 1/ColorSpace/DeviceGray\
                   /Filter/CCITTFaxDecode/DecodeParms<</K -1/Columns 2147483647/Rows 2147483647>>";
    with_image(chance, members, &bytes, false)
}

/// A page with an image; without its text, the image is all that there is.
fn with_image(chance: &mut Chance, members: &str, bytes: &[u8], with_text: bool) -> Made {
    let additions = Additions {
        resources: "/XObject<</X 6 0 R>>",
        content: b"q 612 0 0 792 0 0 cm /X Do Q",
        ..Additions::default()
    };
    let mut raw = Raw::new(chance, &additions);
    raw.add(stream(
        &format!("/Type/XObject/Subtype/Image{members}"),
        bytes,
    ));
    if with_text {
        return raw.either();
    }
    raw.replace(5, stream("", additions.content));
    let blank = PageTruth {
        blocks: Vec::new(),
        ..raw.page()
    };
    either("pdf", raw.file().0, vec![blank])
}
