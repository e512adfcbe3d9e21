//! A body in chunks, followed from one length to the next.

/// What the next byte of a body in chunks is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Chunks {
    /// A digit of a chunk's length, of which so many have come.
    Length {
        length: u64,
        digits: usize,
    },
    /// Of an extension, which means nothing to anyone.
    Extension {
        length: u64,
    },
    LengthFeed {
        length: u64,
    },
    /// So many bytes of a chunk are left.
    Data(u64),
    DataReturn,
    DataFeed,
    /// The first of a trailer's line, or the end of the body.
    TrailerStart,
    Trailer,
    TrailerFeed,
    LastFeed,
    Over,
}

/// A length of more digits is nobody's.
const LENGTH_DIGITS: usize = 15;

impl Default for Chunks {
    fn default() -> Self {
        Self::Length {
            length: 0,
            digits: 0,
        }
    }
}

impl Chunks {
    /// Goes through the next bytes: how many of them belong to the body, and whether it is over. Nothing if they keep to no
    /// length, or to one that others may read differently.
    pub(super) fn walk(&mut self, bytes: &[u8]) -> Option<(usize, bool)> {
        let mut taken = 0;
        while taken < bytes.len() {
            if let Self::Data(left) = self {
                let of_these = usize::try_from(*left).unwrap_or(usize::MAX);
                let of_these = of_these.min(bytes.len() - taken);
                taken += of_these;
                *left -= of_these as u64;
                if *left == 0 {
                    *self = Self::DataReturn;
                }
                continue;
            }
            *self = self.next(bytes[taken])?;
            taken += 1;
            if *self == Self::Over {
                return Some((taken, true));
            }
        }
        Some((taken, false))
    }

    fn next(self, byte: u8) -> Option<Self> {
        let after = match (self, byte) {
            (Self::Length { length, digits }, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F')
                if digits < LENGTH_DIGITS =>
            {
                let digit = char::from(byte).to_digit(16)?;
                Self::Length {
                    length: length * 16 + u64::from(digit),
                    digits: digits + 1,
                }
            }
            (
                Self::Length {
                    length,
                    digits: 1..,
                },
                b';',
            ) => Self::Extension { length },
            (
                Self::Length {
                    length,
                    digits: 1..,
                }
                | Self::Extension { length },
                b'\r',
            ) => Self::LengthFeed { length },
            (Self::Extension { length }, byte) if is_text(byte) => Self::Extension { length },
            (Self::LengthFeed { length: 0 } | Self::TrailerFeed, b'\n') => Self::TrailerStart,
            (Self::LengthFeed { length }, b'\n') => Self::Data(length),
            (Self::DataReturn, b'\r') => Self::DataFeed,
            (Self::DataFeed, b'\n') => Self::default(),
            (Self::TrailerStart, b'\r') => Self::LastFeed,
            (Self::Trailer, b'\r') => Self::TrailerFeed,
            (Self::TrailerStart | Self::Trailer, byte) if is_text(byte) => Self::Trailer,
            (Self::LastFeed, b'\n') => Self::Over,
            _ => return None,
        };
        Some(after)
    }
}

fn is_text(byte: u8) -> bool {
    byte == b'\t' || (byte >= b' ' && byte != 0x7f)
}
