//! Images that models make.

use crate::UsageReport;

/// An image to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageRequest {
    /// What it should show.
    pub prompt: String,
    /// What it is to be made of: parts that are no text.
    pub media: Vec<crate::Part>,
}

/// Images, made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Images {
    /// At least one, as `https:` URLs or as base64, whichever the provider gives.
    pub images: Vec<String>,
    /// The provider's own count of tokens, where it gave one.
    pub usage: Option<UsageReport>,
}
