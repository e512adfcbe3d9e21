//! The two lexemes that a split can cut through and that must not be guessed at: numbers and escapes.

use super::Cause;

const SURROGATE: Cause = Cause::Syntax("half of a surrogate pair");
const ESCAPE: Cause = Cause::Syntax("an unknown escape");

/// How far a number was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Number {
    Minus,
    Zero,
    Whole,
    Point,
    Fraction,
    E,
    Sign,
    Exponent,
}

impl Number {
    /// The state after a number's first byte.
    pub(super) fn begin(byte: u8) -> Self {
        match byte {
            b'-' => Self::Minus,
            b'0' => Self::Zero,
            _ => Self::Whole,
        }
    }

    /// The state after one more byte, if the byte belongs to the number.
    pub(super) fn next(self, byte: u8) -> Option<Self> {
        match (self, byte) {
            (Self::Minus, b'0') => Some(Self::Zero),
            (Self::Minus, b'1'..=b'9') | (Self::Whole, b'0'..=b'9') => Some(Self::Whole),
            (Self::Zero | Self::Whole, b'.') => Some(Self::Point),
            (Self::Point | Self::Fraction, b'0'..=b'9') => Some(Self::Fraction),
            (Self::Zero | Self::Whole | Self::Fraction, b'e' | b'E') => Some(Self::E),
            (Self::E, b'+' | b'-') => Some(Self::Sign),
            (Self::E | Self::Sign | Self::Exponent, b'0'..=b'9') => Some(Self::Exponent),
            _ => None,
        }
    }

    /// Whether the number may end here.
    pub(super) fn may_end(self) -> bool {
        matches!(
            self,
            Self::Zero | Self::Whole | Self::Fraction | Self::Exponent
        )
    }
}

/// How far an escape was read, from behind its backslash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Escape {
    Backslash,
    /// Hex digits, the high half before them, if there is one.
    Hex {
        digits: u8,
        unit: u32,
        high: Option<u32>,
    },
    /// The low half's backslash is next.
    High(u32),
    /// The low half's `u` is next.
    Low(u32),
}

/// What one more byte makes of an escape.
pub(super) enum Escaped {
    Open(Escape),
    Char(char),
}

impl Escape {
    /// Reads one more byte.
    pub(super) fn next(self, byte: u8) -> Result<Escaped, Cause> {
        let open = |escape| Ok(Escaped::Open(escape));
        match self {
            Self::Backslash if byte == b'u' => open(Self::hex(None)),
            Self::Backslash => simple(byte).map(Escaped::Char).ok_or(ESCAPE),
            Self::High(high) if byte == b'\\' => open(Self::Low(high)),
            Self::Low(high) if byte == b'u' => open(Self::hex(Some(high))),
            Self::High(_) | Self::Low(_) => Err(SURROGATE),
            Self::Hex { digits, unit, high } => {
                let digit = char::from(byte).to_digit(16).ok_or(ESCAPE)?;
                let unit = unit * 16 + digit;
                if digits < 3 {
                    let digits = digits + 1;
                    return open(Self::Hex { digits, unit, high });
                }
                match (high, unit) {
                    (None, 0xd800..0xdc00) => open(Self::High(unit)),
                    (None, _) => char::from_u32(unit).map(Escaped::Char).ok_or(SURROGATE),
                    (Some(high), 0xdc00..0xe000) => {
                        let code = 0x1_0000 + ((high - 0xd800) << 10) + (unit - 0xdc00);
                        char::from_u32(code).map(Escaped::Char).ok_or(SURROGATE)
                    }
                    (Some(_), _) => Err(SURROGATE),
                }
            }
        }
    }

    fn hex(high: Option<u32>) -> Self {
        Self::Hex {
            digits: 0,
            unit: 0,
            high,
        }
    }
}

fn simple(byte: u8) -> Option<char> {
    Some(match byte {
        b'"' | b'\\' | b'/' => char::from(byte),
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        _ => return None,
    })
}
