//! What a failed request means: statuses, and the words that a provider spends on them.
//!
//! The dialect says what an error body holds ([`Fault`]); the status alone decides where the dialect has no opinion.

use std::{error::Error, io::ErrorKind, time::Duration};

use domain::seams::{ProviderError, ProviderErrorKind as Kind};
use http::HeaderMap;
use jiff::fmt::rfc2822;
use url::Url;

use super::transport::{Broken, ConnectTimeout, Unsent};

/// A failure as a dialect reads it, not yet fit to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// What kind of failure.
    pub(crate) kind: Kind,
    /// The status that the answer speaks of in its body, where that is not the one in its head.
    pub(crate) status: Option<u16>,
    /// The provider's own words, unfiltered.
    pub(crate) words: Option<String>,
    /// How long the answer's body asks to wait; a header that says so wins.
    pub(crate) wait: Option<Duration>,
    /// Whether it may be about how a JSON value was demanded.
    pub(crate) may_be_demand: bool,
}

impl Fault {
    /// An answer that is not what the protocol promises; `words` are ours.
    pub(crate) fn protocol(words: impl Into<String>) -> Self {
        Self {
            kind: Kind::Protocol,
            status: None,
            words: Some(words.into()),
            wait: None,
            may_be_demand: false,
        }
    }

    /// A body that is no JSON text.
    pub(crate) fn no_json() -> Self {
        Self::protocol("the provider's answer is not JSON")
    }

    /// A stream that came to its end before the answer did.
    pub(crate) fn broken_off() -> Self {
        Self::protocol("the provider's stream broke off")
    }

    /// The same in an answer to a request that demanded a JSON value in a way that can be given up.
    pub(crate) fn of_demanding(self) -> Self {
        let kind = if self.may_be_demand {
            Kind::Demand
        } else {
            self.kind
        };
        Self { kind, ..self }
    }
}

/// What is said of answers and streams beyond their limit.
pub(super) const TOO_LARGE: &str = "the provider's answer is too large";

/// The kind of failure that a status stands for (`reliability.md` 10).
pub(crate) const fn kind_of_status(status: u16) -> Kind {
    match status {
        // 402: the account of that key has nothing left to pay with.
        401..=403 | 407 => Kind::Auth,
        404 => Kind::UnknownModel,
        408 | 425 | 500 | 501 | 505.. => Kind::Failed,
        429 => Kind::RateLimited,
        502..=504 => Kind::Overloaded,
        400..=499 => Kind::Invalid,
        _ => Kind::Protocol,
    }
}

/// The words for a failure of which the provider said nothing.
pub(super) fn own_words(kind: Kind, status: u16) -> String {
    match kind {
        Kind::Protocol if (300..400).contains(&status) => {
            format!("the provider answered with a redirect (status {status})")
        }
        Kind::Protocol => format!("the provider's answer makes no sense (status {status})"),
        _ => format!("the provider answered with status {status}"),
    }
}

/// How long the provider asks to wait: `Retry-After` as seconds or date, or `retry-after-ms`.
///
/// A date is read against the answer's own `Date`, so neither clock needs to be right.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let amount = |name: &str| text(name)?.parse::<f64>().ok();
    if let Some(milliseconds) = amount("retry-after-ms") {
        return Duration::try_from_secs_f64(milliseconds / 1000.0).ok();
    }
    if let Some(seconds) = amount("retry-after") {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let instant = |name: &str| {
        let parser = rfc2822::DateTimeParser::new();
        parser.parse_timestamp(text(name)?).ok()
    };
    let wait = instant("retry-after")?.as_second() - instant("date")?.as_second();
    Some(Duration::from_secs(u64::try_from(wait).unwrap_or(0)))
}

/// A failure before there was an answer.
pub(super) fn of_sending(error: &Unsent, url: &Url) -> ProviderError {
    if super::egress::was_refused(error) {
        return super::egress::refusal(Some(url));
    }
    let innermost = super::innermost(error);
    let is_garbage = super::causes(error)
        .filter_map(|cause| cause.downcast_ref::<hyper::Error>())
        .any(|cause| cause.is_parse() || cause.is_parse_too_large());
    let is_late = super::causes(error).any(<dyn Error>::is::<ConnectTimeout>);
    let is_connect = matches!(error, Unsent::Client(error) if error.is_connect());
    let (kind, reason) = if is_garbage {
        let reason = "the provider's answer is not HTTP".to_owned();
        (Kind::Protocol, reason)
    } else if matches!(error, Unsent::Request(_)) {
        (
            Kind::Misconfigured,
            format!("no request can be made: {innermost}"),
        )
    } else if is_late {
        let reason = "the provider did not accept a connection in time".to_owned();
        (Kind::Connection, reason)
    } else if is_connect {
        let reason = format!("the provider cannot be reached: {innermost}");
        (Kind::Connection, reason)
    } else {
        let reason = "the connection to the provider broke".to_owned();
        (Kind::Connection, reason)
    };
    ProviderError::new(kind, reason)
}

/// No answer in time.
pub(super) fn too_late(timeout: Duration) -> ProviderError {
    let seconds = timeout.as_secs_f64();
    let reason = format!("the provider did not answer within {seconds} s");
    ProviderError::new(Kind::Timeout, reason)
}

/// A failure after the head, while events are read.
pub(super) fn of_reading(error: &Broken) -> ProviderError {
    if matches!(error, Broken::TooLarge) {
        return ProviderError::new(Kind::Protocol, TOO_LARGE);
    }
    let is_broken = |cause: &(dyn std::error::Error + 'static)| {
        let io = cause.downcast_ref::<std::io::Error>();
        let hyper = cause.downcast_ref::<hyper::Error>();
        // What is broken is either the connection or the framing of what came over it.
        let is_framing = |kind| matches!(kind, ErrorKind::InvalidData | ErrorKind::InvalidInput);
        (
            io.is_some() || hyper.is_some(),
            io.is_some_and(|io| is_framing(io.kind())) || hyper.is_some_and(hyper::Error::is_parse),
        )
    };
    let causes: Vec<(bool, bool)> = super::causes(error).map(is_broken).collect();
    let is_garbled = causes.iter().any(|(_, is_framing)| *is_framing);
    let is_known = causes.iter().any(|(is_known, _)| *is_known);
    if is_known && !is_garbled {
        ProviderError::new(Kind::Connection, "the connection to the provider broke")
    } else {
        ProviderError::new(Kind::Protocol, "the provider's stream is garbled")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(given: &[(&'static str, &str)]) -> HeaderMap {
        given
            .iter()
            .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
            .collect()
    }

    #[test]
    fn every_status_has_its_kind() {
        let table = [
            (Kind::Protocol, vec![200, 204, 301, 302, 307, 399]),
            (Kind::Invalid, vec![400, 405, 409, 413, 422, 451, 499]),
            (Kind::Auth, vec![401, 402, 403, 407]),
            (Kind::UnknownModel, vec![404]),
            (Kind::Failed, vec![408, 425, 500, 501, 505, 520, 529, 599]),
            (Kind::RateLimited, vec![429]),
            (Kind::Overloaded, vec![502, 503, 504]),
        ];

        for (kind, statuses) in table {
            for status in statuses {
                assert_eq!(kind_of_status(status), kind, "{status}");
            }
        }
    }

    #[test]
    fn the_wait_is_read_from_seconds_and_dates() {
        let date = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
        let cases = [
            (vec![("retry-after", "7")], Some(7_000)),
            (vec![("retry-after", " 0.5 ")], Some(500)),
            (
                vec![("retry-after-ms", "40"), ("retry-after", "1")],
                Some(40),
            ),
            (
                vec![date, ("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT")],
                Some(30_000),
            ),
            (
                vec![date, ("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT")],
                Some(0),
            ),
            (vec![("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT")], None),
            (vec![("retry-after", "-3")], None),
            (vec![("retry-after", "soon")], None),
            (vec![("retry-after", "1e400")], None),
            (vec![], None),
        ];

        for (given, wait) in cases {
            let wait = wait.map(Duration::from_millis);
            assert_eq!(retry_after(&headers(&given)), wait, "{given:?}");
        }
    }
}
