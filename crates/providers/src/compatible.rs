//! Hosts that speak the OpenAI dialect, one row each.
//!
//! A row is what the host's own pages say. Where one is out of date, `[providers.NAME]` in the operator's file wins.

use domain::Rung;

/// A known host.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    /// The provider's name.
    pub(crate) name: &'static str,
    /// Its address, with the version segment.
    pub(crate) api_base: &'static str,
    /// The environment variable that its users keep their key in; `None` for hosts on one's own machine.
    pub(crate) key_variable: Option<&'static str>,
    /// A cheap model that answers chats and keeps to a schema.
    pub(crate) default_model: Option<&'static str>,
    /// How a JSON value can be demanded, the firmest way first.
    rungs: &'static [Rung],
    /// Whether `stream_options` is a member that the host knows.
    takes_stream_options: bool,
}

/// Every rung: what a host is asked for of which nothing else is known.
pub(crate) const RUNGS: [Rung; 4] = [
    Rung::NativeSchema,
    Rung::ForcedTool,
    Rung::JsonMode,
    Rung::Prompt,
];

/// The hosts, in the order in which a default model is looked for.
pub(crate) static TABLE: [Row; 23] = [
    row(
        "openai",
        "https://api.openai.com/v1",
        "OPENAI_API_KEY",
        "gpt-4.1-mini",
    ),
    row(
        "groq",
        "https://api.groq.com/openai/v1",
        "GROQ_API_KEY",
        "openai/gpt-oss-20b",
    ),
    Row {
        // It refuses what it does not know, this member too; the count comes unasked.
        takes_stream_options: false,
        ..row(
            "mistral",
            "https://api.mistral.ai/v1",
            "MISTRAL_API_KEY",
            "mistral-small-latest",
        )
    },
    Row {
        // https://api-docs.deepseek.com/guides/json_mode: `json_object` is the only form there.
        rungs: &[Rung::ForcedTool, Rung::JsonMode, Rung::Prompt],
        ..row(
            "deepseek",
            "https://api.deepseek.com/v1",
            "DEEPSEEK_API_KEY",
            "deepseek-chat",
        )
    },
    row(
        "together",
        "https://api.together.xyz/v1",
        "TOGETHER_API_KEY",
        "openai/gpt-oss-20b",
    ),
    row(
        "fireworks",
        "https://api.fireworks.ai/inference/v1",
        "FIREWORKS_API_KEY",
        "accounts/fireworks/models/gpt-oss-20b",
    ),
    row(
        "openrouter",
        "https://openrouter.ai/api/v1",
        "OPENROUTER_API_KEY",
        "openai/gpt-4.1-mini",
    ),
    row(
        "xai",
        "https://api.x.ai/v1",
        "XAI_API_KEY",
        "grok-4.20-non-reasoning",
    ),
    row(
        "cerebras",
        "https://api.cerebras.ai/v1",
        "CEREBRAS_API_KEY",
        "gpt-oss-120b",
    ),
    Row {
        // https://docs.perplexity.ai: tools are dropped without a word.
        rungs: &[Rung::NativeSchema, Rung::JsonMode, Rung::Prompt],
        ..row(
            "perplexity",
            "https://api.perplexity.ai",
            "PERPLEXITY_API_KEY",
            "sonar",
        )
    },
    row(
        "deepinfra",
        "https://api.deepinfra.com/v1/openai",
        "DEEPINFRA_API_KEY",
        "openai/gpt-oss-120b",
    ),
    row(
        "novita",
        "https://api.novita.ai/v3/openai",
        "NOVITA_API_KEY",
        "meta-llama/llama-3.3-70b-instruct",
    ),
    row(
        "nebius",
        "https://api.studio.nebius.com/v1",
        "NEBIUS_API_KEY",
        "openai/gpt-oss-120b",
    ),
    row(
        "sambanova",
        "https://api.sambanova.ai/v1",
        "SAMBANOVA_API_KEY",
        "gpt-oss-120b",
    ),
    row(
        "hyperbolic",
        "https://api.hyperbolic.xyz/v1",
        "HYPERBOLIC_API_KEY",
        "meta-llama/Llama-3.3-70B-Instruct",
    ),
    row(
        "moonshot",
        "https://api.moonshot.ai/v1",
        "MOONSHOT_API_KEY",
        "kimi-k2.5",
    ),
    Row {
        // `tool_choice` can be `auto` alone.
        rungs: &[Rung::NativeSchema, Rung::JsonMode, Rung::Prompt],
        ..row(
            "zai",
            "https://api.z.ai/api/paas/v4",
            "ZAI_API_KEY",
            "glm-4.5-air",
        )
    },
    row(
        "minimax",
        "https://api.minimax.io/v1",
        "MINIMAX_API_KEY",
        "MiniMax-M2",
    ),
    Row {
        // Embeddings alone.
        default_model: None,
        ..row(
            "voyage",
            "https://api.voyageai.com/v1",
            "VOYAGE_API_KEY",
            "",
        )
    },
    local("ollama", "http://localhost:11434/v1"),
    local("vllm", "http://localhost:8000/v1"),
    local("lmstudio", "http://localhost:1234/v1"),
    local("llamacpp", "http://localhost:8080/v1"),
];

const fn row(
    name: &'static str,
    api_base: &'static str,
    key_variable: &'static str,
    default_model: &'static str,
) -> Row {
    Row {
        name,
        api_base,
        key_variable: Some(key_variable),
        default_model: Some(default_model),
        rungs: &RUNGS,
        takes_stream_options: true,
    }
}

/// A host on one's own machine: it needs no key, and which models it has is the operator's choice.
const fn local(name: &'static str, api_base: &'static str) -> Row {
    Row {
        name,
        api_base,
        key_variable: None,
        default_model: None,
        rungs: &RUNGS,
        takes_stream_options: true,
    }
}

/// The rungs that a provider knows; all of them for hosts that are not in the table.
pub(crate) fn rungs(provider: &str) -> &'static [Rung] {
    find(provider).map_or(&RUNGS, |row| row.rungs)
}

/// Whether a provider knows the member `stream_options`; one that is not in the table does.
pub(crate) fn takes_stream_options(provider: &str) -> bool {
    find(provider).is_none_or(|row| row.takes_stream_options)
}

fn find(provider: &str) -> Option<&'static Row> {
    TABLE.iter().find(|row| row.name == provider)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_unique_and_addresses_are_addresses() {
        let names: HashSet<&str> = TABLE.iter().map(|row| row.name).collect();
        let bad: Vec<&str> = TABLE
            .iter()
            .filter(|row| {
                let is_local = row.key_variable.is_none();
                let scheme = if is_local { "http" } else { "https" };
                let url = url::Url::parse(row.api_base);
                url.is_err() || url.is_ok_and(|url| url.scheme() != scheme)
            })
            .map(|row| row.name)
            .collect();

        assert_eq!(names.len(), TABLE.len());
        assert_eq!(bad, Vec::<&str>::new());
        assert_eq!(TABLE[0].name, "openai");
    }

    #[test]
    fn rungs_come_the_firmest_first_and_end_with_the_prompt() {
        for row in &TABLE {
            assert!(row.rungs.is_sorted(), "{}", row.name);
            assert_eq!(row.rungs.last(), Some(&Rung::Prompt), "{}", row.name);
        }

        assert_eq!(rungs("nobody"), RUNGS);
        assert_eq!(
            rungs("deepseek"),
            [Rung::ForcedTool, Rung::JsonMode, Rung::Prompt]
        );
        assert!(takes_stream_options("nobody") && !takes_stream_options("mistral"));
    }
}
