//! What the server and a process that reads say to each other: frames, each with its length before it.

use std::{
    io::{self, Read, Write},
    path::PathBuf,
};

use domain::{Dimensions, DocumentKind};
use serde::{Deserialize, Serialize};

use crate::reader::{Limits, ReadPage, Unreadable, Wanted};

/// What no frame exceeds: the largest document, and pages with all their pictures.
pub(crate) const MAX_FRAME: usize = 256 * 1024 * 1024;

/// What the server says first. The document follows in a frame of its own.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Open {
    /// What the document is.
    pub(crate) kind: DocumentKind,
    /// How much of it is taken on.
    pub(crate) limits: Limits,
    /// What the process may take.
    pub(crate) bounds: Bounds,
}

/// What a process may take, and where what it runs is installed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Bounds {
    /// Bytes of address space.
    pub(crate) memory: u64,
    /// Seconds of processor time to open a document, and to look at a page.
    pub(crate) own_seconds: u64,
    /// Seconds of processor time to draw and clean a page that is recognised.
    pub(crate) cleaning_seconds: u64,
    /// Seconds of processor time for what it starts to recognise a page.
    pub(crate) page_seconds: u64,
    /// The program that recognises pages, if it is installed.
    pub(crate) tesseract: Option<PathBuf>,
}

/// What the server says then, any number of times.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Order {
    /// Read a page, if it can be read by its text.
    Read(u32, Box<Wanted>),
    /// Read a page by its looks: one that was said to be recognised, or a picture.
    Recognise(u32, Box<Wanted>),
    /// Show a page, its long side so many pixels at most.
    Show(u32, u32),
}

/// What the process answers.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Reply {
    /// The document is open, has so many pages, and cannot reach out if the kernel can see to that.
    Opened(u32, Walls),
    /// A page, read.
    Read(Box<ReadPage>),
    /// The page has to be recognised, which takes long: in its turn.
    Recognise,
    /// A page, shown: the PNG follows in a frame of its own.
    Shown(Dimensions),
    /// It cannot be done.
    Unreadable(Unreadable),
}

impl Reply {
    /// What it is, and nothing of what it holds: that is somebody's document.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Opened(..) => "opened",
            Self::Read(_) => "read",
            Self::Recognise => "recognise",
            Self::Shown(_) => "shown",
            Self::Unreadable(_) => "unreadable",
        }
    }
}

/// Whether the kernel keeps the process off disk and network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Walls {
    /// It does.
    Up,
    /// It can do a part of that.
    Partly,
    /// It cannot.
    Missing,
}

/// The length of a frame, as it stands before it.
pub(crate) fn length(frame: &[u8]) -> io::Result<[u8; 4]> {
    let length = u32::try_from(frame.len()).ok();
    let length = length.filter(|_| frame.len() <= MAX_FRAME);
    let too_long = || io::Error::new(io::ErrorKind::InvalidData, "a frame is too long");
    Ok(length.ok_or_else(too_long)?.to_le_bytes())
}

/// How long the frame is that follows.
pub(crate) fn read_length(length: [u8; 4]) -> io::Result<usize> {
    let length = u32::from_le_bytes(length) as usize;
    if length > MAX_FRAME {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "a frame is too long",
        ));
    }
    Ok(length)
}

/// Writes a frame.
pub(crate) fn write(to: &mut impl Write, frame: &[u8]) -> io::Result<()> {
    to.write_all(&length(frame)?)?;
    to.write_all(frame)?;
    to.flush()
}

/// Reads a frame; `None` when there are no more.
pub(crate) fn read(from: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut head = [0; 4];
    match from.read_exact(&mut head) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    let mut frame = vec![0; read_length(head)?];
    from.read_exact(&mut frame)?;
    Ok(Some(frame))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_as_they_went_and_end_with_their_pipe() {
        let mut pipe = Vec::new();
        write(&mut pipe, b"one").unwrap();
        write(&mut pipe, b"").unwrap();

        let mut from = &pipe[..];
        assert_eq!(read(&mut from).unwrap().as_deref(), Some(&b"one"[..]));
        assert_eq!(read(&mut from).unwrap().as_deref(), Some(&b""[..]));
        assert_eq!(read(&mut from).unwrap(), None);
        assert!(read(&mut &pipe[..5]).is_err());
        assert!(read(&mut &[0xff; 8][..]).is_err());
    }
}
