//! Sheets bound into a PDF.

use std::collections::{BTreeMap, BTreeSet};

use pdf_writer::{Filter, Finish, Name, Pdf, Rect, Ref, writers::ImageXObject};

use super::{
    chance::Chance,
    draw::{draw, font_name, stored_size},
    font::Face,
    lock::Lock,
    picture::{Coding, Picture, deflate},
    sheet::{Mark, Sheet},
};

/// A document.
#[derive(Debug)]
pub(crate) struct Volume {
    pub(crate) leaves: Vec<Leaf>,
    pub(crate) hand: Hand,
    pub(crate) unicode: Unicode,
    /// Compress what the pages hold.
    pub(crate) packed: bool,
    /// The list of objects is a compressed stream, as newer writers have it.
    pub(crate) modern: bool,
    pub(crate) lock: Option<Lock>,
}

/// A page, and how it lies in the file.
#[derive(Debug, Clone)]
pub(crate) struct Leaf {
    pub(crate) sheet: Sheet,
    /// `/Rotate`: the page is stored so that this turn sets it upright.
    pub(crate) turn: u16,
    /// How far the visible part lies inside of the stored page, to the right and up.
    pub(crate) crop: Option<(f32, f32)>,
    /// How many points one unit of the page is.
    pub(crate) unit: f32,
}

/// How a line of text is written, which differs from program to program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hand {
    /// As one string, with its spaces.
    Lines,
    /// Word by word, each at its place; there are no spaces.
    Words,
    /// As one array, with gaps for spaces.
    Gaps,
}

/// What the fonts say that their codes mean.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unicode {
    /// Nothing: the encoding says it.
    Absent,
    /// The letter that stands at this code's place.
    Lies(Vec<u16>),
}

impl Leaf {
    pub(crate) const fn new(sheet: Sheet) -> Self {
        Self {
            sheet,
            turn: 0,
            crop: None,
            unit: 1.0,
        }
    }
}

impl Volume {
    /// Pages as some program writes them; which one, is drawn.
    pub(crate) fn new(chance: &mut Chance, sheets: impl IntoIterator<Item = Sheet>) -> Self {
        Self {
            leaves: sheets.into_iter().map(Leaf::new).collect(),
            hand: chance.choose(&[Hand::Lines, Hand::Words, Hand::Gaps]),
            unicode: Unicode::Absent,
            packed: chance.percent(70),
            modern: chance.percent(50),
            lock: None,
        }
    }

    /// The file.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        Binder::new(self).bind()
    }
}

/// A file in the making.
struct Binder<'a> {
    volume: &'a Volume,
    pdf: Pdf,
    next: i32,
    fonts: BTreeMap<Face, Ref>,
}

const CATALOG: Ref = Ref::new(1);
const TREE: Ref = Ref::new(2);

impl<'a> Binder<'a> {
    fn new(volume: &'a Volume) -> Self {
        Self {
            volume,
            pdf: Pdf::new(),
            next: 3,
            fonts: BTreeMap::new(),
        }
    }

    fn bind(mut self) -> Vec<u8> {
        self.pdf.catalog(CATALOG).pages(TREE);
        let faces = self.volume.leaves.iter().flat_map(|leaf| &leaf.sheet.marks);
        let faces = faces.filter_map(|mark| match mark {
            Mark::Text(line) => Some(line.font.face),
            _ => None,
        });
        for face in faces.collect::<BTreeSet<_>>() {
            let font = self.font(face);
            self.fonts.insert(face, font);
        }
        // Before the pages: whoever loses the file's end has lost pages, and not all of them.
        let pages: Vec<_> = (0..self.volume.leaves.len())
            .map(|_| self.reference())
            .collect();
        let total = i32::try_from(pages.len()).expect("a fixture has few pages");
        self.pdf
            .pages(TREE)
            .kids(pages.iter().copied())
            .count(total);
        for (leaf, page) in self.volume.leaves.iter().zip(pages) {
            self.page(leaf, page);
        }
        if let Some(lock) = &self.volume.lock {
            let id = lock.id().to_vec();
            self.pdf.set_file_id((id.clone(), id));
            let entry = Ref::new(self.next);
            lock.describe(&mut self.pdf, entry);
            return with_lock(&self.pdf.finish(), entry);
        }
        if self.volume.modern {
            let list = Ref::new(self.next);
            return self.pdf.finish_with_xref_stream(list);
        }
        self.pdf.finish()
    }

    fn reference(&mut self) -> Ref {
        let reference = Ref::new(self.next);
        self.next += 1;
        reference
    }

    fn font(&mut self, face: Face) -> Ref {
        let (font, map) = (self.reference(), self.reference());
        let mut entry = self.pdf.type1_font(font);
        entry.base_font(Name(face.name().as_bytes()));
        entry.encoding_predefined(Name(b"WinAnsiEncoding"));
        if let Unicode::Lies(letters) = &self.volume.unicode {
            entry.to_unicode(map);
            entry.finish();
            let letters = self.sealed(map, deflate(code_map(letters).as_bytes()));
            let mut stream = self.pdf.stream(map, &letters);
            stream.filter(Filter::FlateDecode);
        }
        font
    }

    fn page(&mut self, leaf: &Leaf, page: Ref) {
        let content = self.reference();
        let (drawn, pictures) = draw(leaf, self.volume.hand);
        let images: Vec<_> = pictures.iter().map(|picture| self.image(picture)).collect();
        let bytes = if self.volume.packed {
            deflate(&drawn)
        } else {
            drawn
        };
        let bytes = self.sealed(content, bytes);
        let mut stream = self.pdf.stream(content, &bytes);
        if self.volume.packed {
            stream.filter(Filter::FlateDecode);
        }
        stream.finish();
        self.describe_page(page, content, leaf, &images);
    }

    fn describe_page(&mut self, page: Ref, content: Ref, leaf: &Leaf, images: &[Ref]) {
        let (width, height) = stored_size(leaf);
        let mut entry = self.pdf.page(page);
        entry.parent(TREE).contents(content);
        if let Some((right, up)) = leaf.crop {
            // The hidden margin is as wide on the other side.
            let (all_width, all_height) = (width + 2.0 * right, height + 2.0 * up);
            entry.media_box(Rect::new(0.0, 0.0, all_width, all_height));
            entry.crop_box(Rect::new(right, up, right + width, up + height));
        } else {
            entry.media_box(Rect::new(0.0, 0.0, width, height));
        }
        if leaf.turn != 0 {
            entry.rotate(leaf.turn.into());
        }
        if leaf.unit.to_bits() != 1_f32.to_bits() {
            entry.user_unit(leaf.unit);
        }
        let mut resources = entry.resources();
        let mut fonts = resources.fonts();
        for (face, reference) in &self.fonts {
            fonts.pair(Name(font_name(*face).as_bytes()), *reference);
        }
        fonts.finish();
        let mut objects = resources.x_objects();
        for (index, image) in images.iter().enumerate() {
            objects.pair(Name(format!("I{}", index + 1).as_bytes()), *image);
        }
    }

    fn image(&mut self, picture: &Picture) -> Ref {
        let reference = self.reference();
        let mask = match &picture.coding {
            Coding::Masked { mask, .. } => {
                let reference = self.reference();
                let bytes = self.sealed(reference, mask.clone());
                let mut image = self.pdf.image_xobject(reference, &bytes);
                size(&mut image, picture, 8);
                image.color_space().device_gray();
                image.filter(Filter::FlateDecode);
                Some(reference)
            }
            _ => None,
        };
        let (filter, bits, bytes) = match &picture.coding {
            Coding::JpegRgb(bytes) | Coding::JpegGray(bytes) => (Filter::DctDecode, 8, bytes),
            Coding::FlateRgb(bytes)
            | Coding::FlateGray(bytes)
            | Coding::Masked { rgb: bytes, .. } => (Filter::FlateDecode, 8, bytes),
            Coding::FlateBits(bytes) => (Filter::FlateDecode, 1, bytes),
            Coding::Fax(bytes) => (Filter::CcittFaxDecode, 1, bytes),
        };
        let bytes = self.sealed(reference, bytes.clone());
        let mut image = self.pdf.image_xobject(reference, &bytes);
        size(&mut image, picture, bits);
        image.filter(filter);
        match &picture.coding {
            Coding::JpegRgb(_) | Coding::FlateRgb(_) | Coding::Masked { .. } => {
                image.color_space().device_rgb();
            }
            _ => image.color_space().device_gray(),
        }
        if matches!(picture.coding, Coding::Fax(_)) {
            let (width, height) = pixels(picture);
            let mut parameters = image.decode_parms();
            parameters.k(-1).columns(width).rows(height);
        }
        if let Some(mask) = mask {
            image.s_mask(mask);
        }
        reference
    }

    fn sealed(&self, object: Ref, bytes: Vec<u8>) -> Vec<u8> {
        match &self.volume.lock {
            Some(lock) => lock.seal(object, bytes),
            None => bytes,
        }
    }
}

fn size(image: &mut ImageXObject<'_>, picture: &Picture, bits: i32) {
    let (width, height) = pixels(picture);
    image.width(width).height(height).bits_per_component(bits);
}

fn pixels(picture: &Picture) -> (i32, i32) {
    let signed = |side| i32::try_from(side).expect("a picture is not that large");
    (signed(picture.width), signed(picture.height))
}

/// A `ToUnicode` map that gives each code from the space on the letter at its place.
fn code_map(letters: &[u16]) -> String {
    use std::fmt::Write;
    let mut map = String::from(
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /Own def /CMapType 2 def\n\
         1 begincodespacerange <00> <FF> endcodespacerange\n",
    );
    let codes: Vec<_> = (32_u16..).zip(letters).collect();
    for hundred in codes.chunks(100) {
        let _infallible = writeln!(map, "{} beginbfchar", hundred.len());
        for (code, letter) in hundred {
            let _infallible = writeln!(map, "<{code:02X}> <{letter:04X}>");
        }
        map.push_str("endbfchar\n");
    }
    map + "endcmap CMapName currentdict /CMap defineresource pop end end"
}

/// Names the entry about encryption in the trailer, which the writer of PDFs knows nothing of.
fn with_lock(file: &[u8], entry: Ref) -> Vec<u8> {
    let mark = b"trailer\n<<";
    let start = file.windows(mark.len()).rposition(|bytes| bytes == mark);
    let end = start.expect("the file ends with its trailer") + mark.len();
    let name = format!("/Encrypt {} 0 R", entry.get());
    [&file[..end], name.as_bytes(), &file[end..]].concat()
}
