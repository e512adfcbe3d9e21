//! Many texts in parts, each as large as one request may be.
//!
//! What is asked with them, and how what came is put together again, is not known here.

use std::ops::Range;

use domain::seams::{ProviderError, ProviderErrorKind as Kind};
use futures_util::{StreamExt, TryStreamExt, future::BoxFuture, stream};

/// How many requests for one errand are under way at once.
const AT_ONCE: usize = 4;

/// The places of some texts among all.
pub(crate) type Cut = Range<usize>;

/// Where texts are cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Parts(Vec<Cut>);

impl Parts {
    /// Cuts texts so that no part has more of them, or more bytes; but for one text that is longer itself.
    pub(crate) fn of(texts: &[String], most: usize, most_bytes: usize) -> Self {
        let mut cuts: Vec<Cut> = Vec::new();
        let mut bytes: usize = 0;
        for (index, text) in texts.iter().enumerate() {
            bytes = bytes.saturating_add(text.len());
            match cuts.last_mut() {
                Some(cut) if cut.len() < most && bytes <= most_bytes => cut.end = index + 1,
                _ => {
                    cuts.push(index..index + 1);
                    bytes = text.len();
                }
            }
        }
        Self(cuts)
    }

    /// Asks for each part, and for the halves of one that is refused as too large. What came stands in the order of the
    /// texts.
    ///
    /// # Errors
    /// The first failure: it ends them all, since nothing that is still under way can help.
    pub(crate) async fn ask<'a, T: Send + 'a>(
        self,
        is_on_probation: bool,
        ask: impl Fn(Cut) -> BoxFuture<'a, Result<T, ProviderError>> + Sync,
    ) -> Result<Vec<(Cut, T)>, ProviderError> {
        let mut cuts = self.0.into_iter();
        let mut parts = Vec::with_capacity(cuts.len());
        // A model that has failed of late is asked once; only when that went well, the rest follows.
        if is_on_probation && let Some(first) = cuts.next() {
            parts.extend(whole_or_halves(first, &ask).await?);
        }
        let requests: Vec<_> = cuts.map(|cut| whole_or_halves(cut, &ask)).collect();
        let mut coming = stream::iter(requests).buffer_unordered(AT_ONCE);
        while let Some(part) = coming.try_next().await? {
            parts.extend(part);
        }
        parts.sort_by_key(|(cut, _)| cut.start);
        Ok(parts)
    }
}

/// Asks for a part, or as often for halves as there is anything to halve.
async fn whole_or_halves<'a, T: Send + 'a>(
    cut: Cut,
    ask: &(impl Fn(Cut) -> BoxFuture<'a, Result<T, ProviderError>> + Sync),
) -> Result<Vec<(Cut, T)>, ProviderError> {
    let (mut ahead, mut parts) = (vec![cut], Vec::new());
    while let Some(cut) = ahead.pop() {
        match ask(cut.clone()).await {
            Ok(came) => parts.push((cut, came)),
            Err(failure) if failure.kind == Kind::Batch && cut.len() > 1 => {
                let middle = cut.start + cut.len() / 2;
                ahead.extend([middle..cut.end, cut.start..middle]);
            }
            Err(failure) => return Err(failure),
        }
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use futures_util::FutureExt;

    use super::*;

    fn texts(lengths: &[usize]) -> Vec<String> {
        lengths.iter().map(|length| "x".repeat(*length)).collect()
    }

    #[test]
    fn no_part_is_larger_than_it_may_be() {
        let cuts = |lengths: &[usize], most, most_bytes| {
            let Parts(cuts) = Parts::of(&texts(lengths), most, most_bytes);
            cuts
        };

        assert_eq!(cuts(&[], 2, 9), Vec::<Cut>::new());
        assert_eq!(cuts(&[1, 1, 1, 1, 1], 2, 9), [0..2, 2..4, 4..5]);
        assert_eq!(cuts(&[4, 5, 1, 8, 2], 9, 9), [0..2, 2..4, 4..5]);
        assert_eq!(cuts(&[20, 1, 20, 20], 9, 9), [0..1, 1..2, 2..3, 3..4]);
        let whole = cuts(&[1, 1], 9, usize::MAX);
        assert_eq!((whole.first(), whole.len()), (Some(&(0..2)), 1));
    }

    /// What is asked of a host that takes so many texts at once, and what becomes of it.
    async fn asked(most: usize, parts: Parts) -> (Vec<Cut>, Result<Vec<usize>, Kind>) {
        let asked = Mutex::new(Vec::new());
        let ask = |cut: Cut| {
            asked.lock().unwrap().push(cut.clone());
            let answer = if cut.len() > most {
                Err(ProviderError::new(Kind::Batch, "too many"))
            } else {
                Ok(cut.collect::<Vec<_>>())
            };
            async move { answer }.boxed()
        };
        let came = parts.ask(true, ask).await;
        let came = came.map(|parts| parts.into_iter().flat_map(|(_, came)| came).collect());
        (
            asked.into_inner().unwrap(),
            came.map_err(|failure| failure.kind),
        )
    }

    #[tokio::test]
    async fn a_part_that_is_too_large_is_asked_for_in_halves() {
        let (requests, came) = asked(2, Parts(vec![0..5, 5..7])).await;

        assert_eq!(requests, [0..5, 0..2, 2..5, 2..3, 3..5, 5..7]);
        assert_eq!(came, Ok((0..7).collect()));
    }

    #[tokio::test]
    async fn a_text_that_is_too_large_alone_is_a_failure() {
        let (requests, came) = asked(0, Parts::of(&texts(&[1; 4]), 9, 9)).await;

        assert_eq!(requests, [0..4, 0..2, 0..1]);
        assert_eq!(came, Err(Kind::Batch));
    }
}
