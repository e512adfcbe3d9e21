//! An upstream that gives every request the same chat completion, as fast as one thread can.
//!
//! For the benchmark: what it costs is what the gateway does not. To a request for a stream it tells one in
//! `--chunks` pieces, with `--chunk-pause-us` before each but the first. Every answer begins after `--pause-us`.

use std::{
    convert::Infallible,
    error::Error,
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use http::{HeaderValue, Request, Response, header::CONTENT_TYPE};
use http_body::{Body, Frame};
use http_body_util::{BodyExt, Collected, Either, Full};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use testkit::arguments::Arguments;
use tokio::{net::TcpListener, time::Sleep};

const ANSWER: &str = concat!(
    r#"{"id":"chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT","object":"chat.completion","created":1741569952,"#,
    r#""model":"fast-1","choices":[{"index":0,"message":{"role":"assistant","content":"#,
    r#""{\"greeting\":\"Hello, Ada! How are you today?\",\"length\":30}","refusal":null,"annotations":[]},"#,
    r#""logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":119,"completion_tokens":21,"#,
    r#""total_tokens":140,"prompt_tokens_details":{"cached_tokens":0,"audio_tokens":0},"#,
    r#""completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":0}},"#,
    r#""service_tier":"default","system_fingerprint":"fp_b376dfbbd5"}"#,
);

/// A stream that is the same for everyone.
struct Story {
    /// The role, the pieces, and all that follows the last of them.
    chunks: Vec<Bytes>,
    /// The last of `chunks` for those who want the usage.
    end_with_usage: Bytes,
    pause: Duration,
}

/// A story being told.
struct Telling {
    story: Arc<Story>,
    next: usize,
    wants_usage: bool,
    waiting: Option<Pin<Box<Sleep>>>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::read(&[
        ("listen", "127.0.0.1:9400"),
        ("chunks", "100"),
        ("chunk-pause-us", "0"),
        ("pause-us", "0"),
    ])?;
    let address: SocketAddr = arguments.get("listen")?;
    let pause = Duration::from_micros(arguments.get("chunk-pause-us")?);
    let story = Arc::new(Story::new(arguments.get("chunks")?, pause));
    let thought = Duration::from_micros(arguments.get("pause-us")?);
    let listener = TcpListener::bind(address).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let story = Arc::clone(&story);
        tokio::spawn(async move {
            // A client that hangs up is how every connection ends.
            let _ended = http1::Builder::new()
                .pipeline_flush(true)
                .serve_connection(
                    TokioIo::new(stream),
                    service_fn(|request| answer(&story, thought, request)),
                )
                .await;
        });
    }
}

async fn answer(
    story: &Arc<Story>,
    thought: Duration,
    request: Request<Incoming>,
) -> Result<Response<Either<Full<Bytes>, Telling>>, Infallible> {
    // Read to the end, so that the connection can be used again; a cut body matters to nobody here.
    let read = request.into_body().collect().await;
    let asked = read.map(Collected::to_bytes).unwrap_or_default();
    if !thought.is_zero() {
        tokio::time::sleep(thought).await;
    }
    let (body, content_type) = if says(&asked, "stream") {
        let telling = Telling {
            story: Arc::clone(story),
            next: 0,
            wants_usage: says(&asked, "include_usage"),
            waiting: None,
        };
        (Either::Right(telling), "text/event-stream")
    } else {
        let whole = Full::new(Bytes::from_static(ANSWER.as_bytes()));
        (Either::Left(whole), "application/json")
    };
    let mut response = Response::new(body);
    let content_type = HeaderValue::from_static(content_type);
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    Ok(response)
}

/// Says whether a member is `true` somewhere. Within a text its quotes would be escaped, so no parser is needed.
fn says(body: &[u8], name: &str) -> bool {
    let name = format!("\"{name}\":");
    let mut places = body.windows(name.len()).enumerate();
    places.any(|(at, found)| {
        found == name.as_bytes()
            && body[at + name.len()..]
                .trim_ascii_start()
                .starts_with(b"true")
    })
}

impl Story {
    fn new(pieces: usize, pause: Duration) -> Self {
        let role = json!({"role": "assistant", "content": "", "refusal": null});
        let mut chunks = vec![event(&chunk(&choice(&role, None)))];
        let piece = event(&chunk(&choice(&json!({"content": " piece"}), None)));
        chunks.extend(std::iter::repeat_n(piece, pieces));
        let finish = event(&chunk(&choice(&json!({}), Some("stop"))));
        let mut usage = chunk(&json!([]));
        usage["usage"] = json!({
            "prompt_tokens": 119,
            "completion_tokens": pieces,
            "total_tokens": pieces + 119,
        });
        let done = b"data: [DONE]\n\n";
        chunks.push([&finish[..], done].concat().into());
        Self {
            chunks,
            end_with_usage: [&finish[..], &event(&usage), done].concat().into(),
            pause,
        }
    }
}

fn choice(delta: &Value, finish_reason: Option<&str>) -> Value {
    json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish_reason}])
}

fn chunk(choices: &Value) -> Value {
    json!({
        "id": "chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT",
        "object": "chat.completion.chunk",
        "created": 1_741_569_952,
        "model": "fast-1",
        "service_tier": "default",
        "system_fingerprint": "fp_b376dfbbd5",
        "choices": choices,
    })
}

fn event(data: &Value) -> Bytes {
    format!("data: {data}\n\n").into()
}

impl Body for Telling {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Some(waiting) = &mut self.waiting {
            ready!(waiting.as_mut().poll(cx));
            self.waiting = None;
        }
        let last = self.story.chunks.len() - 1;
        if self.next > last {
            return Poll::Ready(None);
        }
        let chunk = if self.next == last && self.wants_usage {
            self.story.end_with_usage.clone()
        } else {
            self.story.chunks[self.next].clone()
        };
        // The first piece follows the role at once, the end the last piece.
        let paused = self.next > 0 && self.next + 1 < last;
        if paused && !self.story.pause.is_zero() {
            self.waiting = Some(Box::pin(tokio::time::sleep(self.story.pause)));
        }
        self.next += 1;
        Poll::Ready(Some(Ok(Frame::data(chunk))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wish_for_a_stream_is_found_and_a_text_about_one_is_not() {
        let text = json!({"content": "{\"stream\":true}", "stream": false}).to_string();

        assert!(says(br#"{"a":1,"stream":true}"#, "stream"));
        assert!(says(b"{\"stream\": true}", "stream"));
        assert!(!says(text.as_bytes(), "stream"));
        assert!(!says(b"{\"stream\":", "stream"));
    }

    #[tokio::test]
    async fn a_story_has_a_role_its_pieces_and_one_end() {
        let story = Arc::new(Story::new(3, Duration::from_micros(1)));
        let tell = |wants_usage| Telling {
            story: Arc::clone(&story),
            next: 0,
            wants_usage,
            waiting: None,
        };

        let plain = tell(false).collect().await.unwrap().to_bytes();
        let with_usage = tell(true).collect().await.unwrap().to_bytes();

        let events = |bytes: &Bytes| bytes.windows(2).filter(|end| end == b"\n\n").count();
        assert_eq!((events(&plain), events(&with_usage)), (6, 7));
        assert!(plain.ends_with(b"data: [DONE]\n\n") && with_usage.ends_with(b"data: [DONE]\n\n"));
    }
}
