//! What must be true after a hang-up: of the upstream's requests, and of the spans.

use std::time::Duration;

use serde_json::Value;
use testkit::{Ending, Received};

use crate::clients::{self, Left};

/// For an upstream request to end once its client is gone.
pub(crate) const CLOSED_WITHIN: Duration = Duration::from_secs(1);

/// How long after their clients the upstream requests ended, in order, and what is wrong with them.
pub(crate) fn closings(
    left: &[Left],
    requests: &[Received],
    endings: &[Ending],
) -> (Vec<Duration>, Vec<String>) {
    let (mut delays, mut faults) = (Vec::new(), Vec::new());
    for (number, request) in requests.iter().enumerate() {
        let body = String::from_utf8_lossy(&request.body);
        let Some(client) = client_of(&body, left) else {
            faults.push("a request at the upstream is nobody's".to_owned());
            continue;
        };
        let mark = clients::mark(client.number);
        let Some(ending) = endings.iter().find(|ending| ending.request == number) else {
            faults.push(format!("{mark}: its request at the upstream is still open"));
            continue;
        };
        let Some(at) = client.at else { continue };
        let delay = ending.at.saturating_duration_since(at);
        if delay > CLOSED_WITHIN {
            faults.push(format!(
                "{mark}: its request at the upstream ended {} ms after it had left",
                delay.as_millis()
            ));
        }
        delays.push(delay);
    }
    delays.sort_unstable();
    (delays, faults)
}

fn client_of<'a>(body: &str, left: &'a [Left]) -> Option<&'a Left> {
    let (_, rest) = body.split_once("client-")?;
    let number: usize = rest.get(..6)?.parse().ok()?;
    left.get(number)
}

/// Returns what is wrong with a client's span, which must be `closed` by now; `whole` is the text of a whole answer.
pub(crate) fn span_fault(left: &Left, span: &Value, whole: &str) -> Option<String> {
    if span["end_time"].is_null() {
        return Some("it is not closed".to_owned());
    }
    let output = span["output"].as_str().unwrap_or_default();
    if !output.starts_with(&left.text) {
        return Some(format!(
            "its output has {} bytes and does not begin with the {} bytes that were received",
            output.len(),
            left.text.len()
        ));
    }
    let error = &span["error"];
    // The answer may have been done when its reader was not.
    let may_be_done = left.done || output == whole;
    match error.as_str() {
        None if may_be_done => None,
        Some("client disconnected") if !left.done => None,
        _ => Some(format!("its error is {error}")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn left(text: &str, done: bool) -> Left {
        Left {
            text: text.to_owned(),
            done,
            ..Left::default()
        }
    }

    #[test]
    fn a_span_is_closed_says_why_and_begins_with_what_was_received() {
        let span = |end: &str, output: Option<&str>, error: Option<&str>| {
            let end = (!end.is_empty()).then_some(end);
            json!({"end_time": end, "output": output, "error": error})
        };
        let gone = Some("client disconnected");
        let fault = |left: &Left, span: &Value| span_fault(left, span, "whole").is_some();

        assert!(!fault(&left("", false), &span("now", None, gone)));
        assert!(!fault(&left("wh", false), &span("now", Some("who"), gone)));
        assert!(!fault(
            &left("wh", false),
            &span("now", Some("whole"), None)
        ));
        assert!(!fault(
            &left("whole", true),
            &span("now", Some("whole"), None)
        ));
        assert!(fault(&left("", false), &span("", None, gone)));
        assert!(fault(&left("wh", false), &span("now", Some("w"), gone)));
        assert!(fault(&left("wh", false), &span("now", Some("who"), None)));
        assert!(fault(
            &left("", false),
            &span("now", None, Some("UpstreamError: x"))
        ));
        assert!(fault(
            &left("whole", true),
            &span("now", Some("whole"), gone)
        ));
    }

    #[test]
    fn a_request_belongs_to_the_client_whose_mark_it_carries() {
        let all = [left("a", false), left("b", false)];

        let found = client_of("{\"content\":\"client-000001\"}", &all);

        assert_eq!(found.map(|client| client.text.as_str()), Some("b"));
        assert!(client_of("{}", &all).is_none());
        assert!(client_of("client-000007", &all).is_none());
    }
}
