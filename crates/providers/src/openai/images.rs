//! Answers to requests for images: <https://platform.openai.com/docs/api-reference/images/create>.

use domain::Images;
use serde_json::Value;

use super::{answer::answer, usage};
use crate::wire::Fault;

/// Reads the images: each by address, or in base64 as it came.
pub(super) fn images(body: &[u8]) -> Result<Images, Fault> {
    let answer = answer(body)?;
    let items = answer["data"].as_array().into_iter().flatten();
    let images: Vec<String> = items.filter_map(image).map(str::to_owned).collect();
    if images.is_empty() {
        return Err(Fault::protocol("the provider's answer has no images"));
    }
    let usage = usage::of_images(&answer["usage"], body);
    Ok(Images { images, usage })
}

fn image(item: &Value) -> Option<&str> {
    let given = [&item["url"], &item["b64_json"]];
    let mut given = given.into_iter().filter_map(Value::as_str);
    given.find(|text| !text.is_empty())
}
