//! Images made of others: a form with the bytes of each
//! (<https://platform.openai.com/docs/api-reference/images/createEdit>).

use aws_lc_rs::digest::{Context, SHA256};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use domain::{
    ImageRequest, Part,
    seams::{ProviderError, ProviderErrorKind as Kind, Target},
};
use http::{HeaderValue, header};

use super::{parts::base64_data, request::PROMPT};
use crate::{
    vocabulary::{OURS, invalid, is_given},
    wire::{WireRequest, with_bearer},
};

const PATH: &str = "images/edits";
/// The names of one image, and of several.
const IMAGES: [&str; 2] = ["image", "image[]"];

/// A field of the form.
struct Field<'a> {
    name: &'a str,
    /// Of one with bytes, the name of its file and its media type.
    file: Option<(String, &'a str)>,
    value: Vec<u8>,
}

/// Words an image to be made of others.
pub(super) fn request(
    target: &Target,
    request: &ImageRequest,
) -> Result<WireRequest, ProviderError> {
    let fields = fields(target, request)?;
    let boundary = boundary(&fields);
    let kind = format!("multipart/form-data; boundary={boundary}");
    let kind = HeaderValue::try_from(kind).expect("the boundary is letters, digits and `-`");
    let mut wire = WireRequest::json(PATH, &());
    wire.body = form(&fields, &boundary);
    wire.headers.insert(header::CONTENT_TYPE, kind);
    with_bearer(wire, target)
}

fn fields<'a>(
    target: &'a Target,
    request: &'a ImageRequest,
) -> Result<Vec<Field<'a>>, ProviderError> {
    let text = |name: &'a str, value: &str| Field {
        name,
        file: None,
        value: value.as_bytes().to_vec(),
    };
    if let Some(option) = IMAGES.iter().find(|name| is_given(target, name)) {
        return Err(invalid(format!(
            "the option `{option}` cannot be used here: the images of the conversation are what the model `{}` draws from",
            target.name
        )));
    }
    let mut fields = vec![text("model", &target.model), text(PROMPT, &request.prompt)];
    // The older models know the name of one image alone.
    let [one, several] = IMAGES;
    let name = match request.media.len() {
        1 => one,
        _ => several,
    };
    for (index, part) in request.media.iter().enumerate() {
        fields.push(file(name, index, part)?);
    }
    let options = target.options.iter();
    let options = options.filter(|(name, value)| {
        let is_ours = OURS.contains(&name.as_str()) || *name == PROMPT;
        !is_ours && !value.is_null()
    });
    fields.extend(options.map(|(name, value)| text(name, &value.to_text())));
    Ok(fields)
}

fn file<'a>(name: &'a str, index: usize, part: &'a Part) -> Result<Field<'a>, ProviderError> {
    let unreadable = || {
        let reason = "an image to make another one of is no `data:` URL of base64";
        ProviderError::new(Kind::Invalid, reason)
    };
    let Part::Image(url) = part else {
        return Err(unreadable());
    };
    let (subtype, data) = base64_data(url).ok_or_else(unreadable)?;
    let is_plain = !subtype.is_empty() && subtype.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let ending = if is_plain { subtype } else { "bin" };
    let kind = url["data:".len()..].split([';', ',']).next();
    let kind = kind
        .filter(|_| is_plain)
        .unwrap_or("application/octet-stream");
    Ok(Field {
        name,
        file: Some((format!("image-{index}.{ending}"), kind)),
        value: STANDARD.decode(data).map_err(|_| unreadable())?,
    })
}

/// A line that no field has: who could write it into one would have to know it before.
fn boundary(fields: &[Field<'_>]) -> String {
    let mut digest = Context::new(&SHA256);
    for field in fields {
        digest.update(field.name.as_bytes());
        digest.update(&field.value);
    }
    let digest = digest.finish();
    let hex = digest.as_ref()[..16]
        .iter()
        .map(|byte| format!("{byte:02x}"));
    format!("form-{}", hex.collect::<String>())
}

fn form(fields: &[Field<'_>], boundary: &str) -> Vec<u8> {
    let mut form = Vec::new();
    for Field { name, file, value } in fields {
        let name = name
            .replace('"', "%22")
            .replace('\r', "%0D")
            .replace('\n', "%0A");
        let head = match file {
            None => {
                format!("--{boundary}\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n")
            }
            Some((file, kind)) => format!(
                "--{boundary}\r\ncontent-disposition: form-data; name=\"{name}\"; filename=\"{file}\"\r\n\
                 content-type: {kind}\r\n\r\n"
            ),
        };
        form.extend_from_slice(head.as_bytes());
        form.extend_from_slice(value);
        form.extend_from_slice(b"\r\n");
    }
    form.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    form
}

#[cfg(test)]
mod tests {
    use domain::JsonObject;

    use super::*;
    use crate::wire::tests::target;

    fn asked(prompt: &str, media: &[&str], options: &str) -> Result<WireRequest, ProviderError> {
        let target = Target {
            options: serde_json::from_str::<JsonObject>(options).unwrap(),
            ..target("http://localhost")
        };
        let media = media.iter().map(|url| Part::Image((*url).to_owned()));
        let given = ImageRequest {
            prompt: prompt.to_owned(),
            media: media.collect(),
        };
        request(&target, &given)
    }

    #[test]
    fn a_form_says_its_boundary_and_no_text_in_it_can_end_a_field() {
        let plain = asked("a", &["data:image/png;base64,UE5H"], "{}").unwrap();
        let boundary = |wire: &WireRequest| {
            let kind = wire.headers[header::CONTENT_TYPE].to_str().unwrap();
            let boundary = kind.strip_prefix("multipart/form-data; boundary=");
            boundary.unwrap().to_owned()
        };
        let guessed = format!("--{}--\r\n", boundary(&plain));

        let sly = asked(&guessed, &["data:image/png;base64,UE5H"], "{}").unwrap();

        assert!(plain.body.ends_with(guessed.as_bytes()));
        assert_ne!(boundary(&sly), boundary(&plain));
    }

    #[test]
    fn what_cannot_stand_in_a_form_is_written_otherwise_or_refused() {
        let options = r#"{"n":2,"a\"\r\n":"x","user":null,"model":"y","prompt":"z","image":null}"#;
        let wire = asked("a", &["data:image/svg+xml;base64,UE5H"], options).unwrap();

        let body = String::from_utf8(wire.body).unwrap();
        let names = body.matches("; name=\"").count();
        assert_eq!(names, 5, "{body}");
        assert!(body.contains("name=\"n\"\r\n\r\n2\r\n"));
        assert!(body.contains("name=\"a%22%0D%0A\"\r\n\r\nx\r\n"));
        assert!(body.contains("content-type: application/octet-stream\r\n\r\nPNG\r\n"));
        for url in ["data:image/png;base64,@@@", "data:image/png,PNG", "x"] {
            let refused = asked("a", &[url], "{}").unwrap_err();
            assert_eq!(refused.kind, Kind::Invalid, "{url}");
        }
        let twice = asked("a", &["data:image/png;base64,UE5H"], r#"{"image":"w"}"#);
        assert_eq!(twice.unwrap_err().kind, Kind::Invalid);
    }
}
