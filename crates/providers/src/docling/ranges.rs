//! Which pages are asked for at once. A task reads one range of pages, whole.

/// The first and the last page of a task, from 0.
pub(super) type Range = (u32, u32);

/// With more than this many pages to read for each that is wanted, the gaps are left out.
const MOST_READ: u64 = 3;

/// The ranges for pages that ascend; one without bounds if all are wanted.
pub(super) fn of(pages: Option<&[u32]>) -> Vec<Option<Range>> {
    let mut ranges = Vec::new();
    match pages {
        None => ranges.push(None),
        Some(pages) => cut(pages, &mut ranges),
    }
    ranges
}

/// Cuts where the widest gap is, until no range is mostly gaps.
fn cut(pages: &[u32], ranges: &mut Vec<Option<Range>>) {
    let mut rest = vec![pages];
    while let Some(pages) = rest.pop() {
        let (&[first, .., last] | &[first @ last]) = pages else {
            continue;
        };
        let span = u64::from(last - first) + 1;
        if span <= MOST_READ * pages.len() as u64 {
            ranges.push(Some((first, last)));
            continue;
        }
        let gaps = pages.windows(2).map(|pair| pair[1] - pair[0]);
        let widest = gaps.enumerate().max_by_key(|(_, gap)| *gap);
        let at = widest.map_or(pages.len(), |(index, _)| index + 1);
        let (before, after) = pages.split_at(at);
        rest.extend([after, before]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_read_unless_they_are_most_of_it() {
        let cases: [(&[u32], &[Range]); 7] = [
            (&[4], &[(4, 4)]),
            (&[0, 1, 2], &[(0, 2)]),
            (&[0, 2, 4, 6], &[(0, 6)]),
            (&[0, 5], &[(0, 5)]),
            (&[0, 6], &[(0, 0), (6, 6)]),
            (&[0, 1, 90, 92, 200], &[(0, 1), (90, 92), (200, 200)]),
            (&[0, u32::MAX], &[(0, 0), (u32::MAX, u32::MAX)]),
        ];

        for (pages, ranges) in cases {
            let ranges: Vec<_> = ranges.iter().copied().map(Some).collect();
            assert_eq!(of(Some(pages)), ranges, "{pages:?}");
        }
        assert_eq!(of(None), [None]);
    }
}
