//! Tokens sent and received.

use std::ops::AddAssign;

use serde::{Serialize, Serializer, ser::SerializeStruct};

/// Token counts of one generation, or of several added up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens sent to the model, cached ones included.
    pub input_tokens: u64,
    /// Tokens received, reasoning included.
    pub output_tokens: u64,
    /// The part of `output_tokens` that was reasoning.
    pub reasoning_tokens: u64,
}

impl Usage {
    /// The sum of input and output, whatever a provider says (`interface.md` 3.3).
    pub const fn total_tokens(&self) -> u64 {
        self.input_tokens + self.output_tokens
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
    }
}
