//! Long texts of spans are kept as zstd frames, each in a column beside its own.

use std::io;

use domain::{Json, seams::StoreError};
use rusqlite::Row;
use tokio::task;
use zstd::{
    bulk::{Compressor, decompress},
    zstd_safe::get_frame_content_size,
};

use crate::sqlite::{fault::Fault, row};

/// From so many bytes on a text is long.
const LONG: usize = 1024;
/// The quickest; the next ones save some percent more.
const LEVEL: i32 = 1;
/// What is kept of a span is bounded far below this: a frame that says more is none of ours.
const MOST: u64 = 1 << 30;

/// A text for its two columns: at most one of them holds it.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Body {
    pub(super) plain: Option<Json>,
    pub(super) packed: Option<Vec<u8>>,
}

impl From<Option<Json>> for Body {
    fn from(plain: Option<Json>) -> Self {
        let packed = None;
        Self { plain, packed }
    }
}

impl Body {
    /// What goes into the text's own column.
    pub(super) fn text(&self) -> Option<&str> {
        self.plain.as_ref().map(Json::text)
    }
}

/// Packs what is long, on a thread that may be kept busy; the threads of connections and of the writer go on meanwhile.
pub(super) async fn pack(bodies: Vec<Option<Json>>) -> Result<Vec<Body>, StoreError> {
    if !bodies.iter().flatten().any(is_long) {
        return Ok(bodies.into_iter().map(Body::from).collect());
    }
    let packed = task::spawn_blocking(move || pack_here(bodies)).await;
    packed
        .map_err(io::Error::other)
        .flatten()
        .map_err(|error| StoreError::Unavailable(format!("a text cannot be packed: {error}")))
}

fn pack_here(bodies: Vec<Option<Json>>) -> io::Result<Vec<Body>> {
    let mut compressor = Compressor::new(LEVEL)?;
    let packed = bodies.into_iter().map(|body| {
        let Some(long) = body.as_ref().filter(|body| is_long(body)) else {
            return Ok(body.into());
        };
        let packed = compressor.compress(long.text().as_bytes())?;
        Ok(Body {
            plain: None,
            packed: Some(packed),
        })
    });
    packed.collect()
}

fn is_long(body: &Json) -> bool {
    body.text().len() >= LONG
}

/// The text of two columns, its own and the one beside it.
pub(super) fn unpacked(row: &Row<'_>, own: usize, beside: usize) -> Result<Option<Json>, Fault> {
    let frame = row.get_ref(beside)?.as_blob_or_null();
    let Some(frame) = frame.map_err(rusqlite::Error::from)? else {
        return row::optional_json(row, own);
    };
    unpack(frame)
        .map(Some)
        .map_err(|reason| Fault::corrupt("a packed text", reason))
}

fn unpack(frame: &[u8]) -> Result<Json, Box<dyn std::error::Error>> {
    let length = get_frame_content_size(frame).map_err(|_| "it is no frame")?;
    let length = length.filter(|length| *length <= MOST);
    let text = decompress(
        frame,
        usize::try_from(length.ok_or("its length is unknown")?)?,
    )?;
    Ok(serde_json::from_slice(&text)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn texts_come_out_as_they_went_in() {
        let texts = [
            Json::of(&"x".repeat(LONG - 3)),
            Json::of(&"x".repeat(LONG - 2)),
            Json::of(&"å\0\u{1F600}".repeat(100_000)),
            Json::parse(&format!(
                r#"{{"b":1.0,"b2":12345678901234567890123,"a":"{}"}}"#,
                "\\u00e9".repeat(999)
            ))
            .unwrap(),
        ];

        let bodies = pack(texts.clone().map(Some).to_vec()).await.unwrap();

        let is_packed: Vec<bool> = bodies.iter().map(|body| body.packed.is_some()).collect();
        assert_eq!(is_packed, [false, true, true, true]);
        for (text, body) in texts.iter().zip(bodies) {
            let found = match body.packed {
                Some(frame) => unpack(&frame).unwrap(),
                None => body.plain.unwrap(),
            };
            assert_eq!(found.text(), text.text());
        }
    }

    #[test]
    fn what_is_no_frame_is_told() {
        let frame = zstd::bulk::compress(Json::of(&"x".repeat(LONG)).text().as_bytes(), 1).unwrap();
        let no_json = zstd::bulk::compress(b"x", 1).unwrap();

        assert!(unpack(&frame).is_ok());
        for broken in [&frame[..frame.len() / 2], b"", b"text", &no_json] {
            assert!(unpack(broken).is_err(), "{broken:?}");
        }
    }
}
