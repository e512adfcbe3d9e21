//! The pages of a TIFF.
//!
//! The decoder reads the first page that a file names. A file can be made to name any of its pages first: only the address in
//! its header has to be changed (TIFF 6.0, section 2; `BigTIFF` has longer addresses).

/// Where in a file things stand, and in which order their bytes do.
#[derive(Debug, Clone, Copy)]
struct Layout {
    little: bool,
    big: bool,
}

/// Where the pages of a file begin, at most `most` of them.
pub(super) fn places(content: &[u8], most: usize) -> Vec<u64> {
    let Some(layout) = Layout::of(content) else {
        return Vec::new();
    };
    let mut places = Vec::new();
    let mut place = layout.first(content);
    while let Some(at) = place.filter(|&at| at != 0) {
        // A chain that leads back to itself ends there.
        if places.len() >= most || places.contains(&at) {
            break;
        }
        let Some(entries) = layout.entries(content, at) else {
            break;
        };
        places.push(at);
        place = layout.next(content, at, entries);
    }
    places
}

/// Makes a page the first one of a file.
pub(super) fn start_at(content: &mut [u8], place: u64) {
    let Some(layout) = Layout::of(content) else {
        return;
    };
    let (at, length) = if layout.big { (8, 8) } else { (4, 4) };
    let mut address = place.to_le_bytes()[..length].to_vec();
    if !layout.little {
        address.reverse();
    }
    if let Some(target) = content.get_mut(at..at + length) {
        target.copy_from_slice(&address);
    }
}

/// How many dots per inch a page states.
pub(super) fn resolution(content: &[u8], place: u64) -> Option<u32> {
    const X_RESOLUTION: u64 = 282;
    const RESOLUTION_UNIT: u64 = 296;
    let layout = Layout::of(content)?;
    let count = layout.entries(content, place)?;
    let (size, head) = if layout.big { (20, 8) } else { (12, 2) };
    let (mut dots, mut unit) = (None, 2);
    for index in 0..count {
        let at = place
            .checked_add(head)?
            .checked_add(index.checked_mul(size)?)?;
        let value = at + if layout.big { 12 } else { 8 };
        match layout.number(content, at, 2)? {
            X_RESOLUTION => {
                // A fraction: eight bytes, which fit in the entry of a large file alone.
                let address = if layout.big {
                    value
                } else {
                    layout.number(content, value, 4)?
                };
                let over = layout.number(content, address, 4)? as f64;
                let under = layout.number(content, address.checked_add(4)?, 4)? as f64;
                dots = Some(over / under);
            }
            RESOLUTION_UNIT => unit = layout.number(content, value, 2)?,
            _ => {}
        }
    }
    let dots = dots.filter(|dots| dots.is_finite() && *dots >= 1.0)?;
    match unit {
        2 => Some(dots.round() as u32),
        3 => Some((dots * 2.54).round() as u32),
        _ => None,
    }
}

impl Layout {
    fn of(content: &[u8]) -> Option<Self> {
        let little = content.starts_with(b"II");
        let layout = Self { little, big: false };
        match layout.number(content, 2, 2)? {
            42 => Some(layout),
            43 => Some(Self { little, big: true }),
            _ => None,
        }
    }

    fn number(self, content: &[u8], at: u64, length: usize) -> Option<u64> {
        let at = usize::try_from(at).ok()?;
        let bytes = content.get(at..at.checked_add(length)?)?;
        let fold = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
        Some(if self.little {
            bytes.iter().rev().fold(0, fold)
        } else {
            bytes.iter().fold(0, fold)
        })
    }

    fn first(self, content: &[u8]) -> Option<u64> {
        if self.big {
            self.number(content, 8, 8)
        } else {
            self.number(content, 4, 4)
        }
    }

    /// How many entries the page at a place has: at most as many as the file has room for.
    fn entries(self, content: &[u8], place: u64) -> Option<u64> {
        let count = self.number(content, place, if self.big { 8 } else { 2 })?;
        (count > 0 && count < 4096).then_some(count)
    }

    fn next(self, content: &[u8], place: u64, entries: u64) -> Option<u64> {
        if self.big {
            self.number(content, place.checked_add(8 + 20 * entries)?, 8)
        } else {
            self.number(content, place.checked_add(2 + 12 * entries)?, 4)
        }
    }
}
