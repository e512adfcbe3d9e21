//! Tokens sent and received.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize, Serializer, ser::SerializeStruct};

use crate::{Json, Usd};

/// Token counts of one answer, or of several added up, and what else is billed by number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens sent to the model, cached and other kinds included.
    pub input_tokens: u64,
    /// Tokens received, reasoning and other kinds included.
    pub output_tokens: u64,
    /// The part of `output_tokens` that was reasoning.
    pub reasoning_tokens: u64,
    /// The part of `input_tokens` that the provider read from its cache.
    pub cached_tokens: u64,
    /// The part of `input_tokens` that the provider wrote to its cache.
    pub cache_write_tokens: u64,
    /// The part of `cache_write_tokens` that the cache keeps for an hour, and not for minutes.
    pub cache_write_1h_tokens: u64,
    /// The part of `input_tokens` that was sound; cached sound counts as cached.
    pub audio_input_tokens: u64,
    /// The part of `output_tokens` that was sound.
    pub audio_output_tokens: u64,
    /// The part of `output_tokens` that was images.
    pub image_output_tokens: u64,
    /// Images made, where they are billed by number.
    pub images: u64,
    /// Pages read, where they are billed by number.
    pub pages: u64,
    /// Seconds of sound, where they are billed so.
    pub seconds: u64,
    /// Searches that a rerank came to, where they are billed by number: each costs what a request does.
    pub searches: u64,
}

/// What of a [`Usage`] may have a price of its own and is not on the wire: it is kept with a span, so that its cost can be
/// counted again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UsageKinds {
    #[serde(skip_serializing_if = "is_zero")]
    cached_tokens: u64,
    #[serde(skip_serializing_if = "is_zero")]
    cache_write_tokens: u64,
    #[serde(skip_serializing_if = "is_zero")]
    cache_write_1h_tokens: u64,
    #[serde(skip_serializing_if = "is_zero")]
    audio_input_tokens: u64,
    #[serde(skip_serializing_if = "is_zero")]
    audio_output_tokens: u64,
    #[serde(skip_serializing_if = "is_zero")]
    image_output_tokens: u64,
    #[serde(skip_serializing_if = "is_zero")]
    images: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pages: u64,
    #[serde(skip_serializing_if = "is_zero")]
    seconds: u64,
    #[serde(skip_serializing_if = "is_zero")]
    searches: u64,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands out references"
)]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// The whole of a [`Usage`], without what is zero: it is kept of each request where several are summed up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WholeUsage {
    #[serde(skip_serializing_if = "is_zero")]
    input_tokens: u64,
    #[serde(skip_serializing_if = "is_zero")]
    output_tokens: u64,
    #[serde(skip_serializing_if = "is_zero")]
    reasoning_tokens: u64,
    #[serde(flatten)]
    kinds: UsageKinds,
}

/// What a provider says that an answer took.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UsageReport {
    /// Its counts, read.
    pub usage: Usage,
    /// What it says that this costs. It wins over any price of ours.
    pub cost: Option<Usd>,
    /// Its own words, which are kept with the span.
    pub raw: Option<Json>,
}

impl From<Usage> for UsageReport {
    fn from(usage: Usage) -> Self {
        Self {
            usage,
            cost: None,
            raw: None,
        }
    }
}

impl Usage {
    /// The sum of input and output, whatever a provider says (`interface.md` 3.3).
    pub const fn total_tokens(&self) -> u64 {
        self.input_tokens + self.output_tokens
    }

    /// What of it is not on the wire; `None` where there is nothing of that.
    pub fn kinds(&self) -> Option<UsageKinds> {
        let kinds = self.all_kinds();
        (kinds != UsageKinds::default()).then_some(kinds)
    }

    const fn all_kinds(&self) -> UsageKinds {
        UsageKinds {
            cached_tokens: self.cached_tokens,
            cache_write_tokens: self.cache_write_tokens,
            cache_write_1h_tokens: self.cache_write_1h_tokens,
            audio_input_tokens: self.audio_input_tokens,
            audio_output_tokens: self.audio_output_tokens,
            image_output_tokens: self.image_output_tokens,
            images: self.images,
            pages: self.pages,
            seconds: self.seconds,
            searches: self.searches,
        }
    }

    /// The whole of it again.
    #[must_use]
    pub const fn with_kinds(self, kinds: UsageKinds) -> Self {
        Self {
            input_tokens: self.input_tokens,
            output_tokens: self.output_tokens,
            reasoning_tokens: self.reasoning_tokens,
            cached_tokens: kinds.cached_tokens,
            cache_write_tokens: kinds.cache_write_tokens,
            cache_write_1h_tokens: kinds.cache_write_1h_tokens,
            audio_input_tokens: kinds.audio_input_tokens,
            audio_output_tokens: kinds.audio_output_tokens,
            image_output_tokens: kinds.image_output_tokens,
            images: kinds.images,
            pages: kinds.pages,
            seconds: kinds.seconds,
            searches: kinds.searches,
        }
    }
}

impl From<Usage> for WholeUsage {
    fn from(usage: Usage) -> Self {
        Self {
            input_tokens: usage.input_tokens,
            output_tokens: usage.output_tokens,
            reasoning_tokens: usage.reasoning_tokens,
            kinds: usage.all_kinds(),
        }
    }
}

impl From<WholeUsage> for Usage {
    fn from(whole: WholeUsage) -> Self {
        let counts = Self {
            input_tokens: whole.input_tokens,
            output_tokens: whole.output_tokens,
            reasoning_tokens: whole.reasoning_tokens,
            ..Self::default()
        };
        counts.with_kinds(whole.kinds)
    }
}

impl Serialize for Usage {
    /// The shape on the wire (`interface.md` 3.3).
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Details {
            reasoning_tokens: u64,
        }
        let mut usage = serializer.serialize_struct("Usage", 4)?;
        usage.serialize_field("input_tokens", &self.input_tokens)?;
        usage.serialize_field("output_tokens", &self.output_tokens)?;
        usage.serialize_field(
            "output_tokens_details",
            &Details {
                reasoning_tokens: self.reasoning_tokens,
            },
        )?;
        usage.serialize_field("total_tokens", &self.total_tokens())?;
        usage.end()
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input_tokens += other.input_tokens;
        self.output_tokens += other.output_tokens;
        self.reasoning_tokens += other.reasoning_tokens;
        self.cached_tokens += other.cached_tokens;
        self.cache_write_tokens += other.cache_write_tokens;
        self.cache_write_1h_tokens += other.cache_write_1h_tokens;
        self.audio_input_tokens += other.audio_input_tokens;
        self.audio_output_tokens += other.audio_output_tokens;
        self.image_output_tokens += other.image_output_tokens;
        self.images += other.images;
        self.pages += other.pages;
        self.seconds += other.seconds;
        self.searches += other.searches;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_on_the_wire_is_kept_beside_it() {
        let plain = Usage {
            input_tokens: 1,
            output_tokens: 2,
            reasoning_tokens: 3,
            ..Usage::default()
        };
        let whole = Usage {
            cached_tokens: 4,
            cache_write_tokens: 5,
            audio_input_tokens: 6,
            audio_output_tokens: 7,
            image_output_tokens: 8,
            images: 9,
            pages: 10,
            seconds: 11,
            searches: 12,
            cache_write_1h_tokens: 3,
            ..plain
        };

        let kinds = whole.kinds().unwrap();

        assert_eq!(plain.kinds(), None);
        assert_eq!(plain.with_kinds(kinds), whole);
        let kept = Json::of(&kinds);
        assert_eq!(
            serde_json::from_str::<UsageKinds>(kept.text()).unwrap(),
            kinds
        );
        assert_eq!(
            Json::of(&UsageKinds {
                pages: 1,
                ..UsageKinds::default()
            })
            .text(),
            r#"{"pages":1}"#
        );
    }

    #[test]
    fn the_whole_of_it_is_read_back_as_it_was() {
        let usage = Usage {
            input_tokens: 1,
            reasoning_tokens: 3,
            cached_tokens: 4,
            searches: 12,
            ..Usage::default()
        };

        let kept = Json::of(&WholeUsage::from(usage));

        assert_eq!(
            kept.text(),
            r#"{"input_tokens":1,"reasoning_tokens":3,"cached_tokens":4,"searches":12}"#
        );
        let read: WholeUsage = serde_json::from_str(kept.text()).unwrap();
        assert_eq!(Usage::from(read), usage);
    }
}
