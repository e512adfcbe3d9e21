//! Things that hold themselves.

use std::fmt::Write;

use crate::documents::{
    Made,
    chance::Chance,
    raw::{Additions, Raw, stream},
};

/// After its page, the tree holds itself.
pub(crate) fn page_tree(chance: &mut Chance) -> Made {
    let mut raw = Raw::new(chance, &Additions::default());
    raw.replace(2, "<</Type/Pages/Kids[3 0 R 2 0 R]/Count 2>>");
    raw.either()
}

/// The tree holds nothing but itself.
pub(crate) fn page_tree_in_itself(chance: &mut Chance) -> Made {
    let mut raw = Raw::new(chance, &Additions::default());
    raw.replace(2, "<</Type/Pages/Parent 2 0 R/Kids[2 0 R]/Count 1>>");
    // Readers may look for pages elsewhere and find the one that the tree lost.
    raw.either()
}

/// No loop, but so many steps down that a stack may not hold them.
pub(crate) fn page_tree_deep(chance: &mut Chance) -> Made {
    const STEPS: usize = 50_000;
    let mut raw = Raw::new(chance, &Additions::default());
    raw.replace(2, "<</Type/Pages/Kids[6 0 R]/Count 1>>");
    for step in 0..STEPS {
        let below = match step + 1 {
            STEPS => 3,
            _ => 7 + step,
        };
        let node = format!("<</Type/Pages/Kids[{below} 0 R]/Count 1>>");
        raw.add(node.into_bytes());
    }
    raw.either()
}

/// A form that draws itself four times: 4, 16, 64, …
pub(crate) fn form(chance: &mut Chance) -> Made {
    let additions = Additions {
        resources: "/XObject<</X 6 0 R>>",
        content: b"/X Do",
        ..Additions::default()
    };
    let mut raw = Raw::new(chance, &additions);
    let members = "/Type/XObject/Subtype/Form/BBox[0 0 612 792]/Resources<</XObject<</X 6 0 R>>>>";
    raw.add(stream(members, b"/X Do /X Do /X Do /X Do"));
    raw.either()
}

/// A pattern that is filled with itself.
pub(crate) fn pattern(chance: &mut Chance) -> Made {
    let additions = Additions {
        resources: "/Pattern<</P 6 0 R>>",
        content: b"q /Pattern cs /P scn 0 0 300 300 re f Q",
        ..Additions::default()
    };
    let mut raw = Raw::new(chance, &additions);
    let members = "/Type/Pattern/PatternType 1/PaintType 1/TilingType 1/BBox[0 0 2 2]/XStep 2/YStep 2\
                   /Resources<</Pattern<</P 6 0 R>>>>";
    raw.add(stream(members, b"/Pattern cs /P scn 0 0 2 2 re f"));
    raw.either()
}

/// A letter that is drawn with itself.
pub(crate) fn glyph(chance: &mut Chance) -> Made {
    let additions = Additions {
        resources: "/XObject<</X 7 0 R>>",
        content: b"BT /F2 20 Tf 72 400 Td (aaaa) Tj ET",
        ..Additions::default()
    };
    let mut raw = Raw::new(chance, &additions);
    let font = "<</Type/Font/Subtype/Type3/FontBBox[0 0 1000 1000]/FontMatrix[.001 0 0 .001 0 0]\
                /FirstChar 97/LastChar 97/Widths[1000]/CharProcs<</a 7 0 R>>\
                /Encoding<</Type/Encoding/Differences[97/a]>>/Resources<</Font<</F2 6 0 R>>>>>>";
    raw.add(font.as_bytes().to_vec());
    let drawn = b"1000 0 d0 BT /F2 500 Tf (aaaa) Tj ET 0 0 750 750 re f";
    raw.add(stream("", drawn));
    let page = String::from_utf8_lossy(&raw.objects[2]).replace("/F1 4 0 R", "/F1 4 0 R/F2 6 0 R");
    raw.replace(3, page);
    raw.anything()
}

/// The list of objects names itself as its elder.
pub(crate) fn xref(chance: &mut Chance) -> Made {
    let mut raw = Raw::new(chance, &Additions::default());
    // Where the list begins does not depend on what follows it.
    let (_, start) = raw.file();
    let _infallible = write!(raw.trailer, "/Prev {start}");
    raw.either()
}

/// A stream of objects that is said to lie in itself.
pub(crate) fn object_stream(chance: &mut Chance) -> Made {
    let mut raw = Raw::new(chance, &Additions::default());
    let inner = b"6 0 1 30 <</Type/Catalog/Pages 2 0 R>> <</Type/Catalog/Pages 6 0 R>>";
    let number = raw.add(stream("/Type/ObjStm/N 2/First 9/Extends 6 0 R", inner));
    let (mut file, start) = raw.file();
    file.truncate(start);
    // Objects 1 to 6 all lie in object 6: kind 2, the stream's number, the place in it.
    let mut rows = vec![0, 0, 0, 0];
    for place in 0..6_u8 {
        rows.extend([2, 0, number.to_le_bytes()[0], place]);
    }
    let members = "/Type/XRef/Size 7/W[1 2 1]/Root 1 0 R";
    file.extend_from_slice(b"7 0 obj\n");
    file.extend_from_slice(&stream(members, &rows));
    file.extend_from_slice(format!("\nendobj\nstartxref\n{start}\n%%EOF\n").as_bytes());
    // A reader that looks for objects itself finds the page.
    crate::documents::raw::either("pdf", file, vec![raw.page()])
}
