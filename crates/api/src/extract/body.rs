//! JSON bodies: bounded, read once, checked strictly, then parsed with the place of every fault.

use std::{fmt, marker::PhantomData, time::Duration};

use axum::{
    extract::{FromRequest, Request},
    http::{header, request::Parts},
};
use bytes::{Bytes, BytesMut};
use domain::Invalid;
use engine::{Fault, Step};
use http_body_util::BodyExt;
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor, value::MapAccessDeserializer},
};
use serde_path_to_error::{Path, Segment};
use tokio::{sync::OwnedSemaphorePermit, time::Instant};

use crate::{
    admission::Admission, doors::Doors, options::LimitsOptions, patience::Requests,
    problem::Problem,
};

/// How much of a refused body is read and dropped, so that the connection can be kept (`reliability.md` 5).
const DRAINED_BYTES: usize = 1024 * 1024;
/// How slowly a body may come: after the first seconds at least so many bytes a second (`reliability.md` 3).
const PATIENCE: Duration = Duration::from_secs(5);
const LEAST_BYTES_PER_SECOND: u64 = 1024;
/// How much room is made before anything has come.
const FIRST_BYTES: usize = 16 * 1024;
const DRAINED_WITHIN: Duration = Duration::from_secs(2);

/// What a route reads out of its body.
pub(crate) trait RequestBody: for<'de> Deserialize<'de> {
    /// The largest body that the route takes.
    fn limit(limits: &LimitsOptions) -> usize {
        limits.body_bytes
    }

    /// Whether no body at all is as good as `{}`.
    const MAY_BE_EMPTY: bool = false;
}

/// A parsed body. Its bytes stay reserved until it is dropped.
pub(crate) struct Body<T> {
    pub(crate) value: T,
    _reserved: Vec<OwnedSemaphorePermit>,
}

impl<T: RequestBody> FromRequest<Doors> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, doors: &Doors) -> Result<Self, Problem> {
        let limit = T::limit(&doors.limits);
        if let Some(coding) = request.headers().get(header::CONTENT_ENCODING)
            && coding != "identity"
        {
            drain(request).await;
            return Err(Problem::bad_body(
                "value_error",
                "a compressed body is not taken",
            ));
        }
        if http_body::Body::size_hint(request.body()).lower() > limit as u64 {
            drain(request).await;
            return Err(Problem::too_large(limit));
        }
        let within =
            Duration::try_from_secs_f64(doors.limits.body_timeout_seconds).unwrap_or(Duration::MAX);
        let requests = request.extensions().get::<Requests>().cloned();
        let collecting = collect(request, limit, &doors.admission);
        let (bytes, reserved) = tokio::time::timeout(within, collecting)
            .await
            .unwrap_or_else(|_| {
                requests.iter().for_each(Requests::leave_unread);
                Err(too_slow())
            })?;
        let bytes = if bytes.is_empty() && T::MAY_BE_EMPTY {
            Bytes::from_static(b"{}")
        } else {
            bytes
        };
        Ok(Self {
            value: parse(&bytes)?,
            _reserved: reserved,
        })
    }
}

/// No body is asked for, and one that is sent is dropped, so that the connection can be kept.
pub(crate) struct NoBody;

impl FromRequest<Doors> for NoBody {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &Doors) -> Result<Self, Problem> {
        drain(request).await;
        Ok(Self)
    }
}

async fn collect(
    request: Request,
    limit: usize,
    admission: &Admission,
) -> Result<(Bytes, Vec<OwnedSemaphorePermit>), Problem> {
    let (parts, mut body) = request.into_parts();
    let announced = http_body::Body::size_hint(&body)
        .exact()
        .and_then(|length| usize::try_from(length).ok());
    // Room is taken for what has come, not for what is announced: an announcement costs a client nothing.
    let mut reserved = Vec::new();
    let mut room = 0;
    let mut bytes = BytesMut::with_capacity(announced.unwrap_or(0).min(FIRST_BYTES));
    let began = Instant::now();
    loop {
        let due =
            began + PATIENCE + Duration::from_secs(bytes.len() as u64 / LEAST_BYTES_PER_SECOND);
        let Ok(frame) = tokio::time::timeout_at(due, body.frame()).await else {
            leave_unread(&parts);
            return Err(too_slow());
        };
        let Some(frame) = frame else { break };
        let frame = frame.map_err(|_| Problem::bad_body("json_invalid", "the body broke off"))?;
        let Ok(data) = frame.into_data() else {
            continue;
        };
        let size = bytes.len() + data.len();
        if size > limit {
            drain_rest(&parts, body).await;
            return Err(Problem::too_large(limit));
        }
        if size > room {
            let more = size.max(room * 2).min(announced.unwrap_or(limit).max(size)) - room;
            match admission.bytes(more) {
                Ok(place) => reserved.push(place),
                Err(error) => {
                    drain_rest(&parts, body).await;
                    return Err(error.into());
                }
            }
            room += more;
        }
        bytes.extend_from_slice(&data);
    }
    Ok((bytes.freeze(), reserved))
}

fn too_slow() -> Problem {
    Problem::bad_body("value_error", "the body did not arrive in time")
}

/// Reads and drops a refused request.
pub(crate) async fn drain(request: Request) {
    let (parts, body) = request.into_parts();
    drain_rest(&parts, body).await;
}

/// Reads and drops what is left of a refused request, so that the connection can be kept. Beyond a bound it is left
/// unread, and the connection closed after the answer. A client that waits for leave to send is not given it.
async fn drain_rest(parts: &Parts, mut body: axum::body::Body) {
    if parts.headers.contains_key(header::EXPECT) {
        return;
    }
    let dropping = async {
        let mut dropped = 0;
        while let Some(Ok(frame)) = body.frame().await {
            dropped += frame.data_ref().map_or(0, Bytes::len);
            if dropped > DRAINED_BYTES {
                return false;
            }
        }
        true
    };
    let all_dropped = tokio::time::timeout(DRAINED_WITHIN, dropping)
        .await
        .unwrap_or(false);
    if !all_dropped {
        leave_unread(parts);
    }
}

fn leave_unread(parts: &Parts) {
    let requests = parts.extensions.get::<Requests>();
    requests.into_iter().for_each(Requests::leave_unread);
}

pub(super) fn parse<T: RequestBody>(bytes: &[u8]) -> Result<T, Problem> {
    domain::check_strict(bytes)
        .map_err(|invalid| Problem::bad_body(invalid.slug, invalid.message))?;
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    // The check above counted the levels.
    reader.disable_recursion_limit();
    let mut track = serde_path_to_error::Track::new();
    let tracked = serde_path_to_error::Deserializer::new(&mut reader, &mut track);
    object(tracked).map_err(|error| Problem::faults(vec![fault(&track.path(), &error.to_string())]))
}

/// Reads an object of a body that was taken in as it stands; `at` is its place.
pub(crate) fn reread<T: for<'de> Deserialize<'de>>(
    given: &domain::Json,
    at: &[Step],
) -> Result<T, Problem> {
    let mut reader = serde_json::Deserializer::from_str(given.text());
    reader.disable_recursion_limit();
    let mut track = serde_path_to_error::Track::new();
    let tracked = serde_path_to_error::Deserializer::new(&mut reader, &mut track);
    object(tracked).map_err(|error| {
        let mut fault = fault(&track.path(), &error.to_string());
        fault.loc.splice(..1, at.iter().cloned());
        Problem::faults(vec![fault])
    })
}

/// The place and class of a fault that a deserializer met.
fn fault(path: &Path, error: &str) -> Fault {
    let error = error
        .rsplit_once(" at line ")
        .map_or(error, |(text, _)| text);
    let mut loc = vec![Step::Name("body".to_owned())];
    loc.extend(path.iter().filter_map(|segment| match segment {
        Segment::Seq { index } => Some(Step::Index(*index)),
        Segment::Map { key } => Some(Step::Name(key.clone())),
        Segment::Enum { .. } | Segment::Unknown => None,
    }));
    if let Some(name) = error
        .strip_prefix("missing field `")
        .and_then(|rest| rest.strip_suffix('`'))
    {
        loc.push(Step::Name(name.to_owned()));
        return Fault {
            loc,
            msg: "this field is required".to_owned(),
            slug: "missing".to_owned(),
        };
    }
    if let Some(invalid) = Invalid::read(error) {
        return Fault {
            loc,
            msg: invalid.message,
            slug: invalid.slug.to_owned(),
        };
    }
    let expected = error
        .rsplit_once("expected ")
        .map_or("", |(_, expected)| expected);
    if error.starts_with("unknown variant `") {
        return Fault {
            loc,
            // Names in back quotes, as the deriving crate lists them.
            msg: format!("must be {expected}"),
            slug: "value_error".to_owned(),
        };
    }
    let (slug, msg) = match expected {
        "a string" | "string" | "str" => ("string_type", "must be a string"),
        "a string, or a list of strings" => {
            ("string_type", "must be a string, or a list of strings")
        }
        "a whole number" => ("int_type", "must be a whole number"),
        "f64" => ("float_type", "must be a number"),
        "a boolean" => ("bool_type", "must be true or false"),
        "a sequence" => ("array_type", "must be an array"),
        "a map" | "an object" => ("object_type", "must be an object"),
        text if text.starts_with("a model") => (
            "model_type",
            "must be a model's name, an object with a `name`, or a list of these",
        ),
        text if text.starts_with("struct ") => ("object_type", "must be an object"),
        _ => ("value_error", "has a wrong type or value"),
    };
    Fault {
        loc,
        msg: msg.to_owned(),
        slug: slug.to_owned(),
    }
}

/// Reads an object, and nothing but an object: a derived reader would take an array of the members' values as well.
pub(crate) fn object<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    struct ObjectVisitor<T>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<T, A::Error> {
            T::deserialize(MapAccessDeserializer::new(members))
        }
    }

    deserializer.deserialize_map(ObjectVisitor(PhantomData))
}

/// A member of a change: absent, given as `null`, or given.
pub(crate) type Given<T> = Option<Option<T>>;

/// Reads a member that is present: `null` is told from absent.
pub(crate) fn given<'de, D, T>(deserializer: D) -> Result<Given<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    Option::deserialize(deserializer).map(Some)
}
