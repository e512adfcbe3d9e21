//! Documents, read by Mistral: <https://docs.mistral.ai/api/endpoint/ocr>.
//!
//! One request with the whole document, and one answer. What a page's blocks do not tell (`include_blocks`, which older
//! models do not have) is taken from its Markdown.

mod answer;
mod block;
mod markdown;
mod page;
mod request;

pub(super) use self::{
    answer::{pages, taken},
    request::{body, without_blocks},
};
