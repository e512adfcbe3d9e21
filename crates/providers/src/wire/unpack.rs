//! Bodies that came packed, unpacked a little at a time, so that a small body cannot become a large one at once.

use std::{
    io::{self, Write},
    mem,
};

use bytes::{Buf, Bytes};
use flate2::write::GzDecoder;
use http::{HeaderMap, header};

use super::transport::Broken;

/// So much is unpacked at once: a thousand times as much may come out of it.
const STEP_BYTES: usize = 512;
/// How much larger than what was sent an answer may be, once it is larger than this (`reliability.md` 3).
const MAX_RATIO: u64 = 100;
const SMALL_BYTES: u64 = 1024 * 1024;

/// A body on its way through.
pub(super) struct Unpacking {
    decoder: Option<Box<GzDecoder<Vec<u8>>>>,
    waiting: Bytes,
    has_ended: bool,
    taken: u64,
    given: u64,
}

/// What is there now.
pub(super) enum Unpacked {
    Piece(Bytes),
    WantsMore,
    End,
}

impl Unpacking {
    /// Of an answer with this head. Nothing but gzip was asked for.
    pub(super) fn of(headers: &HeaderMap) -> Self {
        let coding = headers.get(header::CONTENT_ENCODING);
        let is_packed = coding.is_some_and(|coding| {
            let coding = coding.as_bytes();
            coding.eq_ignore_ascii_case(b"gzip") || coding.eq_ignore_ascii_case(b"x-gzip")
        });
        Self {
            decoder: is_packed.then(|| Box::new(GzDecoder::new(Vec::new()))),
            waiting: Bytes::new(),
            has_ended: false,
            taken: 0,
            given: 0,
        }
    }

    /// Takes the next piece in; what was before it has been taken out.
    pub(super) fn push(&mut self, piece: Bytes) {
        self.waiting = piece;
    }

    /// Nothing more comes.
    pub(super) fn finish(&mut self) {
        self.has_ended = true;
    }

    /// Hands on what is there.
    pub(super) fn next(&mut self) -> Result<Unpacked, Broken> {
        if self.decoder.is_none() && !self.waiting.is_empty() {
            return Ok(Unpacked::Piece(mem::take(&mut self.waiting)));
        }
        while !self.waiting.is_empty() {
            let piece = self.step()?;
            if !piece.is_empty() {
                return Ok(Unpacked::Piece(piece));
            }
        }
        if !self.has_ended {
            return Ok(Unpacked::WantsMore);
        }
        let Some(mut decoder) = self.decoder.take().filter(|_| self.taken > 0) else {
            return Ok(Unpacked::End);
        };
        decoder.try_finish()?;
        let rest = mem::take(decoder.get_mut());
        if rest.is_empty() {
            Ok(Unpacked::End)
        } else {
            Ok(Unpacked::Piece(rest.into()))
        }
    }

    fn step(&mut self) -> Result<Bytes, Broken> {
        let Some(decoder) = &mut self.decoder else {
            return Ok(Bytes::new());
        };
        let step = &self.waiting[..self.waiting.len().min(STEP_BYTES)];
        match decoder.write(step)? {
            // What follows the end of what was packed.
            0 => return Err(io::Error::from(io::ErrorKind::InvalidData).into()),
            written => {
                self.taken += written as u64;
                self.waiting.advance(written);
            }
        }
        decoder.flush()?;
        let piece = mem::take(decoder.get_mut());
        self.given += piece.len() as u64;
        if self.given > SMALL_BYTES.max(self.taken * MAX_RATIO) {
            return Err(Broken::TooLarge);
        }
        Ok(piece.into())
    }
}

#[cfg(test)]
mod tests {
    use flate2::{Compression, write::GzEncoder};

    use super::*;

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    /// What comes out of a packed body that comes in pieces of a size; the largest piece that does.
    fn unpacked(body: &[u8], size: usize) -> Result<(Vec<u8>, usize), Broken> {
        let headers = [(header::CONTENT_ENCODING, "gzip".parse().unwrap())];
        let mut unpacking = Unpacking::of(&headers.into_iter().collect());
        let (mut whole, mut largest) = (Vec::new(), 0);
        let mut pieces = body.chunks(size);
        loop {
            match unpacking.next()? {
                Unpacked::Piece(piece) => {
                    largest = largest.max(piece.len());
                    whole.extend_from_slice(&piece);
                }
                Unpacked::End => return Ok((whole, largest)),
                Unpacked::WantsMore => match pieces.next() {
                    Some(piece) => unpacking.push(Bytes::copy_from_slice(piece)),
                    None => unpacking.finish(),
                },
            }
        }
    }

    #[test]
    fn what_was_packed_comes_out_however_it_is_split() {
        let numbers: Vec<String> = (0..20_000).map(|number: i32| number.to_string()).collect();
        let text = numbers.join(",");
        let body = packed(text.as_bytes());

        for size in [1, 7, 511, 512, 513, body.len()] {
            let (whole, _) = unpacked(&body, size).unwrap();
            assert!(whole == text.as_bytes(), "{size}");
        }
        assert!(unpacked(&[], 1).unwrap().0.is_empty());
    }

    #[test]
    fn a_bomb_is_found_out_early_and_a_small_text_may_be_dense() {
        let dense = packed(&vec![b'a'; 1024 * 1024]);
        let bomb = packed(&vec![b'a'; 64 * 1024 * 1024]);

        assert_eq!(unpacked(&dense, 4096).unwrap().0.len(), 1024 * 1024);
        assert!(matches!(unpacked(&bomb, 4096), Err(Broken::TooLarge)));
    }

    #[test]
    fn what_is_cut_or_no_packing_is_a_fault() {
        let body = packed(b"some text that is long enough to be cut in two");

        for broken in [&body[..body.len() / 2], b"{}", b"this is not packed at all"] {
            assert!(matches!(unpacked(broken, 5), Err(Broken::Packing(_))));
        }
        let more = [&body[..], b"more"].concat();
        assert!(matches!(unpacked(&more, 5), Err(Broken::Packing(_))));
    }
}
