//! Media in a conversation: those that are in it, addresses that a provider may fetch from, and those that are fetched
//! for it.
//!
//! What is wrong with them is the caller's affair, and says nothing of the provider's health.

use std::{borrow::Cow, collections::HashSet, fmt, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use domain::{
    ChatRequest, Message, Part,
    seams::{ProviderError, ProviderErrorKind as Kind, Target},
};
use tokio::time::{Instant, timeout};
use url::Url;

use super::{
    Client,
    egress::Unfit,
    fetch::{Brought, Unbrought},
    given,
    media_type::media_type,
};

/// For all media of one request (`reliability.md` 3).
const MAX_BYTES: usize = 50 * 1024 * 1024;
/// For each of them.
const TIMEOUT: Duration = Duration::from_secs(30);
/// How much is told of an address.
const MAX_TOLD: usize = 120;

impl Client {
    /// The request with the bytes of every part that `needs_bytes`, as `data:` URLs; the other addresses are checked,
    /// since the provider will fetch from them.
    pub(crate) async fn with_media<'r>(
        &self,
        target: &Target,
        request: &'r ChatRequest,
        needs_bytes: impl Fn(&Message, &Part) -> bool,
    ) -> Result<Cow<'r, ChatRequest>, ProviderError> {
        let started = Instant::now();
        let mut left = MAX_BYTES;
        let mut fetched = Vec::new();
        for (turn, message) in request.messages.iter().enumerate() {
            for (at, part) in message.parts.iter().enumerate() {
                let Some(medium) = Medium::of(part) else {
                    continue;
                };
                if !medium.is_remote()? {
                    continue;
                }
                let limit = TIMEOUT.min(target.timeout.saturating_sub(started.elapsed()));
                let bringing = async {
                    if needs_bytes(message, part) {
                        let data = self.follow(medium, &mut left).await?;
                        fetched.push((turn, at, data));
                        return Ok(());
                    }
                    self.check_medium(medium).await
                };
                let brought = timeout(limit, bringing).await;
                brought.unwrap_or_else(|_| Err(medium.too_late()))?;
            }
        }
        for part in unread(request) {
            let Some(medium) = Medium::of(&part) else {
                continue;
            };
            let limit = TIMEOUT.min(target.timeout.saturating_sub(started.elapsed()));
            let checked = timeout(limit, self.check_medium(medium)).await;
            checked.unwrap_or_else(|_| Err(medium.too_late()))?;
        }
        let mut request = Cow::Borrowed(request);
        for (turn, at, data) in fetched {
            let part = &mut request.to_mut().messages[turn].parts[at];
            if let Part::Image(url) | Part::Audio(url) | Part::File(url) = part {
                *url = data;
            }
        }
        Ok(request)
    }

    /// Whether a provider may be told to fetch from an address.
    async fn check_medium(&self, medium: Medium<'_>) -> Result<(), ProviderError> {
        let checked = self.egress.check_document(medium.url).await;
        checked.map_err(|unfit| match unfit {
            Unfit::Refused => medium.refused(),
            Unfit::Unknown => medium.failed("the name of its host cannot be looked up"),
        })
    }

    /// What is at an address, as a `data:` URL.
    async fn follow(&self, medium: Medium<'_>, left: &mut usize) -> Result<String, ProviderError> {
        let brought = self.bring(medium.url, *left).await;
        let Brought {
            bytes,
            media_type: told,
        } = brought.map_err(|why| match why {
            Unbrought::Refused { .. } => medium.refused(),
            Unbrought::TooLarge => medium.failed("all media of the request have more than 50 MiB"),
            Unbrought::Failed(why) => medium.failed(&why),
        })?;
        *left -= bytes.len();
        let kind = media_type(medium.part, told.as_deref(), &bytes);
        let kind = kind.map_err(|why| medium.failed(&why))?;
        Ok(format!("data:{kind};base64,{}", STANDARD.encode(&bytes)))
    }
}

/// The addresses in turns and tools that go out as they were given, but for those of the parts that were read.
fn unread(request: &ChatRequest) -> Vec<Part> {
    let turns = request
        .messages
        .iter()
        .filter_map(|turn| turn.as_given.as_ref());
    // What a function takes is no address, and what it is given is the model's.
    let tools = request.tools.iter().filter(|tool| tool.kind != "function");
    let given = turns.chain(tools.map(|tool| &tool.as_given));
    let parts = request.messages.iter().flat_map(|turn| &turn.parts);
    let read: HashSet<&str> = parts
        .filter_map(|part| Some(Medium::of(part)?.url))
        .collect();
    given
        .flat_map(given::addresses)
        .filter(|url| !read.contains(url.as_str()))
        .map(Part::File)
        .collect()
}

/// A part that is no text, which is spoken of by its kind and its address.
#[derive(Clone, Copy)]
struct Medium<'r> {
    part: &'r Part,
    url: &'r str,
}

impl<'r> Medium<'r> {
    fn of(part: &'r Part) -> Option<Self> {
        match part {
            Part::Text(_) => None,
            Part::Image(url) | Part::Audio(url) | Part::File(url) => Some(Self { part, url }),
        }
    }

    /// Whether its bytes are elsewhere; those that are here have to be readable.
    fn is_remote(self) -> Result<bool, ProviderError> {
        let Some(data) = self.url.strip_prefix("data:") else {
            let url = Url::parse(self.url).ok();
            let is_web = url.is_some_and(|url| matches!(url.scheme(), "https" | "http"));
            let not_web = || self.invalid("is neither an `https:` nor a `data:` URL");
            return is_web.then_some(true).ok_or_else(not_web);
        };
        match data.split_once(',') {
            None => Err(self.invalid("is no `data:` URL: there is no comma before its data")),
            Some((head, _)) if !head.ends_with(";base64") => {
                Err(self.invalid("is not base64, as the data of its URL have to be"))
            }
            Some((_, data)) if !is_base64(data) => {
                Err(self.invalid("is not base64, as its URL says"))
            }
            Some(_) => Ok(false),
        }
    }

    fn refused(self) -> ProviderError {
        let reason = format!(
            "{self} cannot be used: its address is neither a public one nor in the operator's list `egress.allow_documents`"
        );
        ProviderError::new(Kind::RefusedAddress, reason)
    }

    /// That it cannot be had. Another model would not get it either.
    fn too_late(self) -> ProviderError {
        self.failed("its host took longer than the request may")
    }

    fn failed(self, why: &str) -> ProviderError {
        self.invalid(&format!("cannot be fetched: {why}"))
    }

    fn invalid(self, what: &str) -> ProviderError {
        ProviderError::new(Kind::Invalid, format!("{self} {what}"))
    }
}

impl fmt::Display for Medium<'_> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.part {
            Part::Image(_) => "image",
            Part::Audio(_) => "audio",
            Part::File(_) | Part::Text(_) => "file",
        };
        let url = told(self.url);
        match url.char_indices().nth(MAX_TOLD) {
            None => write!(to, "the {kind} `{url}`"),
            Some((end, _)) => write!(to, "the {kind} `{}…`", &url[..end]),
        }
    }
}

/// An address without what opens a document to anybody who has it: a password, or a signature after a question mark.
pub(super) fn told(url: &str) -> Cow<'_, str> {
    let bare = url.split(['?', '#']).next().unwrap_or_default();
    match Url::parse(bare) {
        Ok(mut parsed) if parsed.has_authority() && bare.contains('@') => {
            parsed.set_username("").ok();
            parsed.set_password(None).ok();
            parsed.to_string().into()
        }
        _ => bare.into(),
    }
}

/// Whether a text can be read as base64 by the most patient of readers: in either alphabet, with spaces and escapes, with
/// or without its end.
fn is_base64(text: &str) -> bool {
    let text = text.trim_end_matches(|char: char| char == '=' || char.is_ascii_whitespace());
    let mut digits = 0;
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'+' | b'/' | b'-' | b'_' => digits += 1,
            // What an escape stands for is not looked into.
            b'%' => return true,
            byte if byte.is_ascii_whitespace() => {}
            _ => return false,
        }
    }
    // The last digit of five has no byte to end.
    digits % 4 != 1
}

#[cfg(test)]
mod tests {
    use domain::{Message, Role};
    use testkit::QuietPort;
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpListener,
    };

    use super::*;
    use crate::wire::tests::{client, target};

    /// Where a host is that gives every request that answer, and then waits.
    async fn host(answer: impl Into<Vec<u8>>) -> String {
        let answer = answer.into();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("localhost:{}", listener.local_addr().unwrap().port());
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut asked = [0; 4096];
                let _ = stream.read(&mut asked).await;
                let _ = stream.write_all(&answer).await;
                let _ = stream.read(&mut asked).await;
            }
        });
        address
    }

    /// What becomes of a part; its bytes are wanted if `needs_bytes` says so.
    async fn brought(
        client: &Client,
        part: Part,
        needs_bytes: bool,
    ) -> Result<Part, (Kind, String)> {
        let request = ChatRequest {
            messages: vec![Message::new(Role::User, vec![part])],
            ..ChatRequest::default()
        };
        let target = target("");
        let brought = client.with_media(&target, &request, |_, _| needs_bytes);
        match brought.await {
            Ok(request) => Ok(request.messages[0].parts[0].clone()),
            Err(error) => Err((error.kind, error.reason)),
        }
    }

    fn answer(head: &str, body: &[u8]) -> Vec<u8> {
        let length = body.len();
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n{head}\r\n");
        [head.as_bytes(), body].concat()
    }

    #[tokio::test]
    async fn what_cannot_be_had_is_the_callers_affair_and_is_named() {
        let quiet = QuietPort::take();
        let nobody = format!("localhost:{}", quiet.address().port());
        let no_tls = host("no TLS\r\n\r\n").await;
        let no_http = host("no HTTP\r\n\r\n").await;
        let redirect = host("HTTP/1.1 302 Found\r\ncontent-length: 0\r\n\r\n").await;
        let missing = host("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n").await;
        let page = host(answer("content-type: text/html\r\n", b"<p>Sign in</p>")).await;
        let unreachable = "its host cannot be reached: ";
        let cases = [
            ("https://nobody.invalid/a".to_owned(), unreachable),
            (format!("http://{nobody}/a"), unreachable),
            (format!("https://{no_tls}/a"), unreachable),
            (format!("http://{no_http}/a"), unreachable),
            (
                format!("http://{redirect}/a"),
                "it is a redirect to nowhere",
            ),
            (
                format!("http://{missing}/a"),
                "its host answered with status 404",
            ),
            (
                format!("http://{page}/a"),
                "what is there is no image but `text/html`",
            ),
        ];
        let client = client(&[&nobody, &no_tls, &no_http, &redirect, &missing, &page]);

        for (url, words) in cases {
            let part = Part::Image(format!("{url}?key=secret"));
            let (kind, reason) = brought(&client, part, true).await.unwrap_err();
            assert_eq!(kind, Kind::Invalid, "{url}");
            let words = format!("the image `{url}` cannot be fetched: {words}");
            assert!(reason.starts_with(&words), "{reason}");
        }
    }

    #[tokio::test]
    async fn what_only_the_provider_fetches_has_to_have_an_address() {
        let cases = [
            (
                "https://nobody.invalid/a.pdf",
                "cannot be fetched: the name of its host cannot be looked up",
            ),
            ("a.pdf", "is neither an `https:` nor a `data:` URL"),
            ("https://", "is neither an `https:` nor a `data:` URL"),
        ];

        let client = client(&[]);

        for (url, words) in cases {
            let refused = brought(&client, Part::File(url.to_owned()), false).await;
            let reason = format!("the file `{url}` {words}");
            assert_eq!(refused, Err((Kind::Invalid, reason)));
        }
    }

    #[tokio::test]
    async fn a_host_that_takes_its_time_is_the_callers_affair() {
        let slow = host("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n").await;
        let (url, client) = (format!("http://{slow}/a"), client(&[&slow]));
        let request = ChatRequest {
            messages: vec![Message::new(Role::User, vec![Part::Image(url.clone())])],
            ..ChatRequest::default()
        };
        let target = Target {
            timeout: Duration::from_millis(100),
            ..target("")
        };

        let error = client.with_media(&target, &request, |_, _| true).await;

        let error = error.unwrap_err();
        let reason = format!(
            "the image `{url}` cannot be fetched: its host took longer than the request may"
        );
        assert_eq!((error.kind, error.reason), (Kind::Invalid, reason));
    }

    #[tokio::test]
    async fn a_refused_address_is_named_without_its_secrets() {
        let words = |url: &str| {
            format!(
                "the audio `{url}` cannot be used: its address is neither a public one nor in the operator's list `egress.allow_documents`"
            )
        };
        let cases = [
            ("https://127.0.0.1/a.mp3?token=s", "https://127.0.0.1/a.mp3"),
            ("https://me:secret@8.8.8.8/a.mp3", "https://8.8.8.8/a.mp3"),
            ("https://localhost/a.mp3", "https://localhost/a.mp3"),
        ];

        let client = client(&[]);

        for (url, told) in cases {
            for needs_bytes in [true, false] {
                let part = Part::Audio(url.to_owned());
                let refused = brought(&client, part, needs_bytes).await;
                assert_eq!(refused, Err((Kind::RefusedAddress, words(told))), "{url}");
            }
        }
    }

    #[tokio::test]
    async fn bytes_of_which_their_host_says_nothing_are_what_they_show() {
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
        let silent = host(answer("", png)).await;
        let vague = host(answer("content-type: application/octet-stream\r\n", png)).await;
        let client = client(&[&silent, &vague]);

        for address in [silent, vague] {
            let part = Part::Image(format!("http://{address}/a"));
            let part = brought(&client, part, true).await;
            let url = format!("data:image/png;base64,{}", STANDARD.encode(png));
            assert_eq!(part, Ok(Part::Image(url)), "{address}");
        }
    }

    #[tokio::test]
    async fn data_that_nobody_can_read_are_refused() {
        let fine = [
            "data:image/png;base64,iVBORw0KGgo=",
            "data:image/png;base64,iVBORw0KGgo",
            "data:image/png;base64,_-AA\n AAA=\n",
            "data:image/png;base64,iVBO%0ARw%3D%3D",
            "data:text/plain;base64,",
        ];
        let broken = [
            "data:image/png;base64,@@@",
            "data:image/png;base64,AAAAA",
            "data:image/png;base64,AA=A",
            "data:image/png;base64,\u{e5}",
            "data:image/png;base64",
            "data:text/plain,hello",
            "data:,",
        ];

        let client = client(&[]);

        for url in fine {
            let part = Part::Image(url.to_owned());
            assert_eq!(brought(&client, part.clone(), false).await, Ok(part));
        }
        for url in broken {
            let part = Part::File(url.to_owned());
            let (kind, reason) = brought(&client, part, false).await.unwrap_err();
            assert_eq!(kind, Kind::Invalid, "{url}");
            assert!(
                reason.starts_with(&format!("the file `{url}` is no")),
                "{reason}"
            );
        }
    }
}
