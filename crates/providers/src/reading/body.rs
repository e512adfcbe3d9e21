//! A whole document in a request's body, written there without a copy in between.

use base64::{display::Base64Display, engine::general_purpose::STANDARD};
use domain::Document;
use serde::{Serialize, Serializer};

/// The bytes of a document in base64.
pub(crate) struct Base64<'a>(pub(crate) &'a Document);

impl Serialize for Base64<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&Base64Display::new(&self.0.content, &STANDARD))
    }
}

/// A document as a `data:` URL.
pub(crate) struct DataUrl<'a>(pub(crate) &'a Document);

impl Serialize for DataUrl<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let content = Base64Display::new(&self.0.content, &STANDARD);
        let media_type = self.0.kind.media_type();
        serializer.collect_str(&format_args!("data:{media_type};base64,{content}"))
    }
}
