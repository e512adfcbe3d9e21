//! The offline models, by name.

use std::time::Duration;

/// What can be asked for in a chat.
pub(super) const CHATS: &str = "echo, json, fail-status-<400..599>, fail-delay-<milliseconds>, fail-cut, \
     fail-json, fail-json-<times>, fail-schema, fail-schema-<times>, fail-empty, fail-refusal, fail-length, \
     fail-stream-cut-<pieces>, fail-stream-stall-<pieces>, fail-stream-error-<pieces>";
/// What fails beside chats.
pub(super) const FAILS: &str = "fail-status-<400..599>, fail-delay-<milliseconds>, fail-cut";

/// A model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Model {
    /// Answers with the input.
    Echo,
    /// Answers with a value that satisfies the output schema.
    Json,
    /// Hashes texts to vectors.
    Embed,
    /// Puts texts in order by the words that they share with a query.
    Rerank,
    /// Fails on purpose.
    Fail(Fail),
}

/// A failure on purpose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fail {
    /// As if a host had answered with this status.
    Status(u16),
    /// Late, then like `echo`.
    Delay(Duration),
    /// The connection breaks.
    Cut,
    /// Text that is no JSON; as often as said, or always.
    Json { times: Option<usize> },
    /// JSON that misses the output schema; as often as said, or always.
    Schema { times: Option<usize> },
    /// Nothing.
    Empty,
    /// A refusal.
    Refusal,
    /// The first half of an answer.
    Length,
    /// As many pieces of a stream, then no more; without a stream, nothing.
    Stream { pieces: usize, end: Broken },
}

/// How a stream breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Broken {
    /// The connection does.
    Cut,
    /// Nothing comes any more.
    Stall,
    /// The host says that it failed.
    Error,
}

impl Model {
    /// Reads a name; `None` if there is no such model.
    pub(super) fn parse(name: &str) -> Option<Self> {
        match name {
            "echo" => Some(Self::Echo),
            "json" => Some(Self::Json),
            "embed" => Some(Self::Embed),
            "rerank" => Some(Self::Rerank),
            _ => Fail::parse(name.strip_prefix("fail-")?).map(Self::Fail),
        }
    }
}

impl Fail {
    fn parse(name: &str) -> Option<Self> {
        let (name, number) = match name.rsplit_once('-') {
            Some((name, number)) => (name, Some(number.parse::<u64>().ok()?)),
            None => (name, None),
        };
        let times = number.map(|number| usize::try_from(number).unwrap_or(usize::MAX));
        if let (Some(end), Some(pieces)) = (name.strip_prefix("stream-"), times) {
            let end = match end {
                "cut" => Broken::Cut,
                "stall" => Broken::Stall,
                "error" => Broken::Error,
                _ => return None,
            };
            return Some(Self::Stream { pieces, end });
        }
        match (name, number) {
            ("status", Some(status)) => {
                let status = u16::try_from(status).ok();
                let status = status.filter(|status| (400..600).contains(status));
                status.map(Self::Status)
            }
            ("delay", Some(milliseconds)) => Some(Self::Delay(Duration::from_millis(milliseconds))),
            ("json", _) => Some(Self::Json { times }),
            ("schema", _) => Some(Self::Schema { times }),
            ("cut", None) => Some(Self::Cut),
            ("empty", None) => Some(Self::Empty),
            ("refusal", None) => Some(Self::Refusal),
            ("length", None) => Some(Self::Length),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_others_are_none() {
        let broken = |pieces, end| Fail::Stream { pieces, end };
        let fails = [
            ("fail-status-429", Fail::Status(429)),
            ("fail-delay-20", Fail::Delay(Duration::from_millis(20))),
            ("fail-json", Fail::Json { times: None }),
            ("fail-json-2", Fail::Json { times: Some(2) }),
            ("fail-schema-1", Fail::Schema { times: Some(1) }),
            ("fail-cut", Fail::Cut),
            ("fail-stream-cut-3", broken(3, Broken::Cut)),
            ("fail-stream-stall-0", broken(0, Broken::Stall)),
            ("fail-stream-error-1", broken(1, Broken::Error)),
        ];

        for (name, fail) in fails {
            assert_eq!(Model::parse(name), Some(Model::Fail(fail)));
        }
        for name in [
            "",
            "Echo",
            "fail",
            "fail-",
            "fail-status",
            "fail-status-200",
            "fail-status-600",
            "fail-status-x",
            "fail-delay",
            "fail-cut-1",
            "fail-json-",
            "fail-json--1",
            "fail-stream-cut",
            "fail-stream-end-1",
            "fail-stream-1",
            "other",
        ] {
            assert_eq!(Model::parse(name), None, "{name}");
        }
    }
}
