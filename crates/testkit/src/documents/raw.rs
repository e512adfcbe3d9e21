//! PDFs written by hand: objects as bytes, with nobody to see whether they make sense.

use std::fmt::Write;

use domain::{Bbox, Label};

use super::{
    Made,
    chance::Chance,
    prose::{Letters, Prose},
    truth::{Block, Expected, PageTruth},
};

/// A file of one page with a line of text, to which something is added.
pub(crate) struct Raw {
    /// Object 1 is the catalog, 2 the page tree, 3 the page, 4 the font, 5 what is drawn; more may follow.
    pub(crate) objects: Vec<Vec<u8>>,
    /// What the trailer holds beside the usual.
    pub(crate) trailer: String,
    text: String,
}

/// What is put into the one page.
#[derive(Default)]
pub(crate) struct Additions<'a> {
    /// Members of the page.
    pub(crate) page: &'a str,
    /// Members of its resources.
    pub(crate) resources: &'a str,
    /// Drawn before the text.
    pub(crate) content: &'a [u8],
    /// Instead of the letter format.
    pub(crate) media_box: Option<&'a str>,
    /// Instead of the standard font.
    pub(crate) font: Option<&'a str>,
}

/// Where the line of text stands, from the lower left.
const PLACE: (f32, f32) = (72.0, 700.0);
const SIZE: f32 = 14.0;
const LETTER: (f32, f32) = (612.0, 792.0);

impl Raw {
    pub(crate) fn new(chance: &mut Chance, additions: &Additions<'_>) -> Self {
        let text = Prose::new(chance, Letters::Plain).phrase();
        let mut content = additions.content.to_vec();
        let shown = format!(
            "\nBT /F1 {SIZE} Tf {} {} Td ({text}) Tj ET\n",
            PLACE.0, PLACE.1
        );
        content.extend_from_slice(shown.as_bytes());
        let media_box = additions.media_box.unwrap_or("[0 0 612 792]");
        let font = additions
            .font
            .unwrap_or("<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>");
        let page = format!(
            "<</Type/Page/Parent 2 0 R/MediaBox {media_box}/Contents 5 0 R\
             /Resources<</Font<</F1 4 0 R>>{}>>{}>>",
            additions.resources, additions.page
        );
        Self {
            objects: vec![
                b"<</Type/Catalog/Pages 2 0 R>>".to_vec(),
                b"<</Type/Pages/Kids[3 0 R]/Count 1>>".to_vec(),
                page.into_bytes(),
                font.as_bytes().to_vec(),
                stream("", &content),
            ],
            trailer: String::new(),
            text,
        }
    }

    /// Adds an object, and returns its number.
    pub(crate) fn add(&mut self, object: Vec<u8>) -> usize {
        self.objects.push(object);
        self.objects.len()
    }

    /// Puts another object in the place of one.
    pub(crate) fn replace(&mut self, number: usize, object: impl Into<Vec<u8>>) {
        self.objects[number - 1] = object.into();
    }

    /// The file, and where its list of objects begins.
    pub(crate) fn file(&self) -> (Vec<u8>, usize) {
        let mut file = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n".to_vec();
        let mut list = format!("xref\n0 {}\n0000000000 65535 f \n", self.objects.len() + 1);
        for (index, object) in self.objects.iter().enumerate() {
            let _infallible = writeln!(list, "{:010} 00000 n ", file.len());
            file.extend_from_slice(format!("{} 0 obj\n", index + 1).as_bytes());
            file.extend_from_slice(object);
            file.extend_from_slice(b"\nendobj\n");
        }
        let start = file.len();
        let size = self.objects.len() + 1;
        let trailer = &self.trailer;
        let _infallible = write!(
            list,
            "trailer\n<</Size {size}/Root 1 0 R{trailer}>>\nstartxref\n{start}\n%%EOF\n"
        );
        file.extend_from_slice(list.as_bytes());
        (file, start)
    }

    /// The truth of the one page.
    pub(crate) fn page(&self) -> PageTruth {
        let top = LETTER.1 - PLACE.1;
        let bbox = Bbox {
            l: PLACE.0,
            t: top - SIZE,
            r: LETTER.0,
            b: top + SIZE * 0.3,
        };
        PageTruth {
            index: 0,
            width: LETTER.0,
            height: LETTER.1,
            blocks: vec![Block::new(Label::Text, &self.text, bbox)],
        }
    }

    /// A file that may be refused, or read rightly.
    pub(crate) fn either(&self) -> Made {
        either("pdf", self.file().0, vec![self.page()])
    }

    /// A file that may be refused, and of whose text nothing is certain.
    pub(crate) fn anything(&self) -> Made {
        either("pdf", self.file().0, Vec::new())
    }

    /// A file that is to be refused.
    pub(crate) fn refused(&self, slugs: &[&str]) -> Made {
        refused("pdf", self.file().0, slugs)
    }
}

/// A stream with these members beside its length.
pub(crate) fn stream(members: &str, bytes: &[u8]) -> Vec<u8> {
    let head = format!("<</Length {}{members}>>\nstream\n", bytes.len());
    [head.as_bytes(), bytes, b"\nendstream"].concat()
}

/// A document that may be refused, or read rightly.
pub(crate) fn either(extension: &'static str, bytes: Vec<u8>, pages: Vec<PageTruth>) -> Made {
    Made {
        expected: Expected::Either,
        ..Made::new(extension, bytes, pages)
    }
}

/// A document that is to be refused.
pub(crate) fn refused(extension: &'static str, bytes: Vec<u8>, slugs: &[&str]) -> Made {
    Made {
        expected: Expected::Refusal {
            status: 422,
            slugs: slugs.iter().map(ToString::to_string).collect(),
        },
        ..Made::new(extension, bytes, Vec::new())
    }
}
