//! Answers in small pieces, and streams that break on purpose.

use std::time::Duration;

use domain::{Delta, Deltas, Generation, seams::ProviderError};
use futures_util::{StreamExt, stream};

use super::{Broken, cut, late, of_status};
use crate::adapter::deltas;

/// About a word.
const PIECE_CHARS: usize = 8;

/// A sound stream of an answer.
pub(super) fn of(generation: Generation) -> Deltas {
    let deltas = deltas(generation)
        .into_iter()
        .flat_map(|delta| match delta {
            Delta::Text(text) => pieces(&text),
            other => vec![other],
        });
    Box::pin(stream::iter(deltas.map(Ok).collect::<Vec<_>>()))
}

/// The first pieces of a text, and then what breaks it.
pub(super) fn breaking(text: &str, count: usize, end: Broken, timeout: Duration) -> Deltas {
    let first = pieces(text).into_iter().take(count).map(Ok);
    let end = stream::once(async move { Err(failure(end, timeout).await) });
    Box::pin(stream::iter(first).chain(end))
}

/// What breaks a stream, as late as it does.
pub(super) async fn failure(end: Broken, timeout: Duration) -> ProviderError {
    match end {
        Broken::Cut => cut(),
        Broken::Error => of_status(500),
        Broken::Stall => {
            tokio::time::sleep(timeout).await;
            late()
        }
    }
}

fn pieces(text: &str) -> Vec<Delta> {
    let chars: Vec<char> = text.chars().collect();
    let pieces = chars
        .chunks(PIECE_CHARS)
        .map(|piece| piece.iter().collect());
    pieces.map(Delta::Text).collect()
}
