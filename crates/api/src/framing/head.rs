//! The head of a request: where it ends, whether it can be read in one way alone, and what comes after it.

use httparse::{EMPTY_HEADER, Error, Request};

use super::{Chunks, Place, Refusal};

/// The longest head of a request, and the most fields in it (`reliability.md` 3).
pub(crate) const MAX_BYTES: usize = 32 * 1024;
pub(crate) const MAX_FIELDS: usize = 100;

const END: &[u8] = b"\r\n\r\n";
const HTTP2: &[u8] = b"PRI * HTTP/2.0\r\n\r\n";
/// A length of more digits is nobody's.
const LENGTH_DIGITS: usize = 18;

/// Reads a head that `bytes` begin with: how long it is and what comes after it, or nothing while it is unfinished. `seen`
/// is how much of it was looked at before.
pub(super) fn read(
    bytes: &[u8],
    seen: &mut usize,
    is_first: bool,
) -> Result<Option<(usize, Place)>, Refusal> {
    // An empty line or two before a request is what some clients put behind a body.
    let start = bytes.iter().take_while(|byte| b"\r\n".contains(byte));
    let start = start.count();
    while let Some(byte) = bytes.get(*seen) {
        match byte {
            b'\n' if *seen == 0 || bytes[*seen - 1] != b'\r' => return Err(Refusal::Unclear),
            b'\r' => match bytes.get(*seen + 1) {
                None => break,
                Some(b'\n') => {}
                Some(_) => return Err(Refusal::Unclear),
            },
            b'\t' | b'\n' | b' '..=b'~' | 0x80.. => {}
            _ => return Err(Refusal::Unclear),
        }
        *seen += 1;
        if *seen > start && bytes[start..*seen].ends_with(END) {
            return whole(&bytes[start..*seen], is_first).map(|place| Some((*seen, place)));
        }
        if *seen > MAX_BYTES {
            return Err(Refusal::TooLarge);
        }
    }
    Ok(None)
}

/// What comes after a whole head.
fn whole(head: &[u8], is_first: bool) -> Result<Place, Refusal> {
    if is_first && head == HTTP2 {
        return Ok(Place::Unfollowed);
    }
    let mut fields = [EMPTY_HEADER; MAX_FIELDS];
    let mut request = Request::new(&mut fields);
    match request.parse(head) {
        Ok(status) if status.is_complete() => {}
        Err(Error::TooManyHeaders) => return Err(Refusal::TooLarge),
        _ => return Err(Refusal::Unclear),
    }
    if !has_clear_target(&request) {
        return Err(Refusal::Unclear);
    }
    let of = |name: &str| {
        let fields = request.headers.iter();
        let mut fields = fields.filter(|field| field.name.eq_ignore_ascii_case(name));
        match (fields.next(), fields.next()) {
            (first, None) => Ok(first.map(|field| field.value)),
            _ => Err(Refusal::Unclear),
        }
    };
    of("host")?;
    match (of("transfer-encoding")?, of("content-length")?) {
        (None, None) => Ok(Place::Head { seen: 0 }),
        (None, Some(length)) => after(length),
        (Some(coding), None)
            if coding.eq_ignore_ascii_case(b"chunked") && request.version == Some(1) =>
        {
            Ok(Place::Chunks(Chunks::default()))
        }
        _ => Err(Refusal::Unclear),
    }
}

/// Whether a request asks for a path. One that asks for a whole address, as from a proxy, names one as well.
fn has_clear_target(request: &Request<'_, '_>) -> bool {
    let (method, target) = (
        request.method.unwrap_or_default(),
        request.path.unwrap_or_default(),
    );
    let is_path = ["/", "http://", "https://"]
        .iter()
        .any(|beginning| target.starts_with(beginning));
    method != "CONNECT" && (is_path || (method == "OPTIONS" && target == "*"))
}

fn after(length: &[u8]) -> Result<Place, Refusal> {
    let text = std::str::from_utf8(length).unwrap_or_default();
    let is_plain =
        (1..=LENGTH_DIGITS).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(0) if is_plain => Ok(Place::Head { seen: 0 }),
        Ok(length) if is_plain => Ok(Place::Body(length)),
        _ => Err(Refusal::Unclear),
    }
}
