//! The subset of JSON Schema that some models keep without fail: who keeps which, schemas brought into it, and answers
//! brought back.
//!
//! In the subset every property is required and no other is allowed, so an optional one becomes one that may be `null`.
//! What the subset lacks is not left out: such a schema is not carried, and the model is asked without a promise.

mod rewrite;
mod shape;

pub(super) use rewrite::rewritten;
pub(super) use shape::emptied;

/// What a host holds its models to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limits {
    /// Whether bounds, patterns and formats are kept.
    has_bounds: bool,
    /// Whether references to definitions are.
    has_references: bool,
    /// How deep objects and arrays may be nested.
    depth: usize,
    /// How many properties there may be in all.
    properties: usize,
    /// How many values all lists of allowed values may have together.
    values: usize,
    /// How many characters names and allowed values may have together.
    characters: usize,
}

/// As of <https://platform.openai.com/docs/guides/structured-outputs#supported-schemas>.
const FULL: Limits = Limits {
    has_bounds: true,
    has_references: true,
    depth: 10,
    properties: 5000,
    values: 1000,
    characters: 120_000,
};
/// What all the others share: <https://console.groq.com/docs/structured-outputs> and
/// <https://inference-docs.cerebras.ai/capabilities/structured-outputs>.
const PLAIN: Limits = Limits {
    has_bounds: false,
    has_references: false,
    depth: 10,
    properties: 100,
    values: 500,
    characters: 4000,
};
/// As of <https://learn.microsoft.com/azure/ai-foundry/openai/how-to/structured-outputs>.
const AZURE: Limits = Limits {
    has_bounds: false,
    has_references: true,
    depth: 5,
    properties: 100,
    values: 500,
    characters: 7500,
};

/// Models of one host.
struct Keeper {
    provider: &'static str,
    /// What stands before the models' own names there.
    vendor: &'static str,
    models: &'static [Named],
    subset: Limits,
}

/// A name, or the names that begin with it.
enum Named {
    Exactly(&'static str),
    Family(&'static str),
    /// Dated names of a family, from that one on.
    Since {
        family: &'static str,
        first: &'static str,
    },
}

const OPENAI: &[Named] = &[
    Named::Exactly("gpt-4o"),
    Named::Since {
        family: "gpt-4o-20",
        first: "gpt-4o-2024-08-06",
    },
    Named::Exactly("gpt-4o-mini"),
    Named::Family("gpt-4o-mini-20"),
    Named::Family("gpt-4.1"),
    Named::Family("gpt-5"),
    Named::Family("gpt-6"),
    Named::Exactly("o1"),
    Named::Family("o1-20"),
    Named::Family("o1-pro"),
    Named::Exactly("o3"),
    Named::Family("o3-20"),
    Named::Family("o3-pro"),
    Named::Exactly("o3-mini"),
    Named::Family("o3-mini-20"),
    Named::Exactly("o4-mini"),
    Named::Family("o4-mini-20"),
];
const GPT_OSS: &[Named] = &[
    Named::Exactly("gpt-oss-20b"),
    Named::Exactly("gpt-oss-120b"),
];

const KEEPERS: [Keeper; 5] = [
    Keeper {
        provider: "openai",
        vendor: "",
        models: OPENAI,
        subset: FULL,
    },
    Keeper {
        // A deployment is most often named after its model.
        provider: "azure",
        vendor: "",
        models: OPENAI,
        subset: AZURE,
    },
    Keeper {
        provider: "openrouter",
        vendor: "openai/",
        models: OPENAI,
        subset: FULL,
    },
    Keeper {
        provider: "groq",
        vendor: "openai/",
        models: GPT_OSS,
        subset: PLAIN,
    },
    Keeper {
        provider: "cerebras",
        vendor: "",
        models: GPT_OSS,
        subset: PLAIN,
    },
];

/// The subset that a model is known to keep.
pub(super) fn subset(provider: &str, model: &str) -> Option<&'static Limits> {
    let keeper = KEEPERS.iter().find(|keeper| {
        let name = model.strip_prefix(keeper.vendor);
        keeper.provider == provider
            && name.is_some_and(|name| keeper.models.iter().any(|named| named.is_for(name)))
    });
    keeper.map(|keeper| &keeper.subset)
}

impl Named {
    fn is_for(&self, name: &str) -> bool {
        match self {
            Self::Exactly(known) => name == *known,
            Self::Family(family) => name.starts_with(family),
            Self::Since { family, first } => name.starts_with(family) && name >= *first,
        }
    }
}

#[cfg(test)]
mod tests;
