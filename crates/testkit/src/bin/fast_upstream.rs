//! An upstream that gives every request the same chat completion, as fast as one thread can.
//!
//! For the benchmark: what it costs is what the gateway does not.

use std::{convert::Infallible, error::Error, net::SocketAddr};

use bytes::Bytes;
use http::{HeaderValue, Request, Response, header::CONTENT_TYPE};
use http_body_util::{BodyExt, Full};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use testkit::arguments::Arguments;
use tokio::net::TcpListener;

const ANSWER: &str = concat!(
    r#"{"id":"chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT","object":"chat.completion","created":1741569952,"#,
    r#""model":"fast-1","choices":[{"index":0,"message":{"role":"assistant","content":"#,
    r#""{\"greeting\":\"Hello, Ada! How are you today?\",\"length\":30}","refusal":null,"annotations":[]},"#,
    r#""logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":119,"completion_tokens":21,"#,
    r#""total_tokens":140,"prompt_tokens_details":{"cached_tokens":0,"audio_tokens":0},"#,
    r#""completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":0}},"#,
    r#""service_tier":"default","system_fingerprint":"fp_b376dfbbd5"}"#,
);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::read(&[("listen", "127.0.0.1:9400")])?;
    let address: SocketAddr = arguments.get("listen")?;
    let listener = TcpListener::bind(address).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        tokio::spawn(async move {
            // A client that hangs up is how every connection ends.
            let _ended = http1::Builder::new()
                .pipeline_flush(true)
                .serve_connection(TokioIo::new(stream), service_fn(answer))
                .await;
        });
    }
}

async fn answer(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    // Read to the end, so that the connection can be used again; a cut body matters to nobody here.
    let _read = request.into_body().collect().await;
    let mut response = Response::new(Full::new(Bytes::from_static(ANSWER.as_bytes())));
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, json);
    Ok(response)
}
