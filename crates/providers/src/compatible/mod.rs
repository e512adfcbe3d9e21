//! Hosts that speak the OpenAI dialect, one row each.
//!
//! A row is what the host's own pages say. Where one is out of date, `[providers.NAME]` in the operator's file wins.

#[cfg(test)]
mod page;
mod steering;
mod table;

use domain::{Json, Rung, seams::Target};

use steering::Steering;

pub(crate) use steering::{check_model, check_tool};
pub(crate) use table::TABLE;

use crate::{adapter::EMBEDDING_TOKENS, azure};

/// The dialect of nearly all of them.
pub(crate) const OPENAI: &str = "openai";
/// The dialect of one that differs in words here and there (`crate::mistral`).
pub(crate) const MISTRAL: &str = "mistral";

/// One that speaks OpenAI's second dialect in a way of its own (`crate::responses`).
pub(crate) const PERPLEXITY: &str = "perplexity";

/// A known host.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    /// The provider's name.
    pub(crate) name: &'static str,
    /// The dialect: OpenAI's, or one that is all but that.
    pub(crate) protocol: &'static str,
    /// Its address, with the version segment. `{account_id}` and the like in it stand for settings of that name.
    pub(crate) api_base: &'static str,
    /// The environment variable that its users keep their key in; `None` for hosts on one's own machine.
    pub(crate) key_variable: Option<&'static str>,
    /// A cheap model that answers chats and keeps to a schema.
    pub(crate) default_model: Option<&'static str>,
    /// A model whose vectors have 1536 dimensions, and that takes 8191 tokens.
    pub(crate) default_embedding_model: Option<&'static str>,
    /// How a JSON value can be demanded, the firmest way first.
    pub(crate) rungs: &'static [Rung],
    /// Whether `stream_options` is a member that the host knows.
    pub(crate) takes_stream_options: bool,
    /// Whether the form `json_object` may have a schema beside it.
    pub(crate) takes_schema_in_json_mode: bool,
    /// What it calls the limit on an answer's length.
    pub(crate) limit: Limit,
    /// How many texts it embeds at once.
    pub(crate) embedding_batch: usize,
    /// How many tokens these may have together.
    pub(crate) embedding_tokens: usize,
    /// What it calls the length of vectors.
    pub(crate) dimensions: &'static str,
    /// How many texts it puts in order at once; they are weighed one by one there.
    pub(crate) rerank_batch: usize,
    /// Whether it writes vectors in base64 where it is asked to.
    pub(crate) takes_base64: bool,
    /// Its models that take ids of calls of [`SHORT_ID`] characters at most, by how their names begin.
    pub(crate) short_ids: &'static [&'static str],
    /// What it fetches by address, beside images.
    pub(crate) fetches: &'static [Fetched],
    /// Options by which it is told to ask other models.
    pub(crate) steering: &'static [Steering],
}

/// Every rung: what a host is asked for of which nothing else is known.
pub(crate) const RUNGS: [Rung; 4] = [
    Rung::NativeSchema,
    Rung::ForcedTool,
    Rung::JsonMode,
    Rung::Prompt,
];
/// The rungs of a host with no other form than `json_object`.
const FORMLESS: [Rung; 3] = [Rung::ForcedTool, Rung::JsonMode, Rung::Prompt];

/// How many texts are embedded at once where no less is known: OpenAI takes 2048, but 300,000 tokens in all.
const EMBEDDING_BATCH: usize = 512;
/// What OpenAI calls the length of vectors.
pub(crate) const DIMENSIONS: &str = "dimensions";
/// How many characters OpenAI takes in the id of a call (<https://github.com/openclaw/openclaw/pull/875>).
const SHORT_ID: usize = 40;
/// OpenAI's models where names begin with who made the model.
const OPENAIS: &[&str] = &["openai/"];

const OLD_LIMIT: &str = "max_tokens";
const NEW_LIMIT: &str = "max_completion_tokens";

/// What a host may fetch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fetched {
    /// Sound.
    Sound,
    /// Documents of other kinds.
    Documents,
}

/// Names of the limit on an answer's length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limit {
    /// Both, or nobody knows: it goes out as it was given.
    AsGiven,
    /// `max_tokens` alone.
    Old,
    /// `max_completion_tokens` alone for OpenAI's reasoning models, whose names begin so there; both for the others.
    NewFor(&'static [&'static str]),
}

impl Limit {
    /// The name that the limit was given under among the target's options, and the one that the host takes instead. None
    /// where both were given: what was meant by that, the host may say.
    pub(crate) fn other_name(self, target: &Target) -> Option<(&'static str, &'static str)> {
        let is_given = |name: &str| {
            target
                .options
                .get(name)
                .is_some_and(|it| !Json::is_null(it))
        };
        let (given, taken) = match self {
            Self::AsGiven => return None,
            Self::Old => (NEW_LIMIT, OLD_LIMIT),
            Self::NewFor(models) => {
                let mut models = models.iter();
                models.find(|model| target.model.starts_with(**model))?;
                (OLD_LIMIT, NEW_LIMIT)
            }
        };
        let is_other = is_given(given) && !target.options.contains_key(taken);
        is_other.then_some((given, taken))
    }
}

/// A host in the cloud.
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
        default_embedding_model: None,
        protocol: OPENAI,
        takes_stream_options: true,
        takes_schema_in_json_mode: false,
        limit: Limit::AsGiven,
        embedding_batch: EMBEDDING_BATCH,
        embedding_tokens: EMBEDDING_TOKENS,
        dimensions: DIMENSIONS,
        rerank_batch: usize::MAX,
        takes_base64: false,
        short_ids: &[],
        fetches: &[],
        steering: &[],
    }
}

/// A host on one's own machine: it needs no key, and which models it has is the operator's choice.
///
/// Some of these have no native form and read a schema beside `json_object`; the others pass over it:
/// <https://llama-cpp-python.readthedocs.io/en/latest/server/#json-schema-mode>.
const fn local(name: &'static str, api_base: &'static str) -> Row {
    Row {
        key_variable: None,
        default_model: None,
        takes_schema_in_json_mode: true,
        ..row(name, api_base, "", "")
    }
}

/// A host of which nothing is known but its dialect; most such are on somebody's own machine.
static UNKNOWN: Row = local("", "");

/// What is known of a target's host.
///
/// The dialect bears its first speaker's name, and many a model is registered under that with an address of its own:
/// there, nothing else is known. The others' names are theirs alone, whatever stands between.
pub(crate) fn of(target: &Target) -> &'static Row {
    let first = &TABLE[0];
    // Azure has OpenAI's own models.
    if target.provider == azure::NAME {
        return first;
    }
    let address = target.api_base.as_deref().unwrap_or(first.api_base);
    let is_elsewhere = address.trim_end_matches('/') != first.api_base;
    if target.provider == first.name && is_elsewhere {
        return &UNKNOWN;
    }
    let row = TABLE.iter().find(|row| row.name == target.provider);
    row.unwrap_or(&UNKNOWN)
}

/// How many characters the id of a call may have.
pub(crate) fn longest_id(target: &Target) -> usize {
    let mut short = of(target).short_ids.iter();
    if short.any(|models| target.model.starts_with(models)) {
        SHORT_ID
    } else {
        usize::MAX
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use domain::JsonObject;

    use super::*;
    use crate::wire;

    fn target(provider: &str, api_base: &str, model: &str, options: &str) -> Target {
        let options: JsonObject = serde_json::from_str(options).unwrap();
        Target {
            provider: provider.to_owned(),
            model: model.to_owned(),
            options,
            ..wire::tests::target(api_base)
        }
    }

    #[test]
    fn names_are_unique_and_addresses_are_addresses() {
        let names: HashSet<&str> = TABLE.iter().map(|row| row.name).collect();
        let bad: Vec<&str> = TABLE
            .iter()
            .filter(|row| {
                let is_local = row.key_variable.is_none();
                let scheme = if is_local { "http" } else { "https" };
                let url = url::Url::parse(row.api_base);
                let is_bare = !row.api_base.ends_with('/');
                // A setting may be a tenant's: it must not choose the host that gets the operator's key.
                let is_fixed = url.is_ok_and(|url| {
                    url.scheme() == scheme && url.host_str().is_some_and(|host| !host.contains('{'))
                });
                !(is_bare && is_fixed)
            })
            .map(|row| row.name)
            .collect();

        assert_eq!(names.len(), TABLE.len());
        assert_eq!(bad, Vec::<&str>::new());
        assert_eq!(TABLE[0].name, "openai");
    }

    #[test]
    fn rungs_come_the_firmest_first_and_end_with_the_prompt() {
        for row in TABLE {
            assert!(row.rungs.is_sorted(), "{}", row.name);
            assert_eq!(row.rungs.last(), Some(&Rung::Prompt), "{}", row.name);
            assert!(row.embedding_batch > 0, "{}", row.name);
            assert!(row.embedding_tokens > 0, "{}", row.name);
            assert!(row.rerank_batch > 0, "{}", row.name);
        }
    }

    #[test]
    fn under_the_dialects_own_name_only_its_own_address_is_its_own_host() {
        let of = |provider, api_base| of(&target(provider, api_base, "m", "{}"));

        let own = of("openai", "https://api.openai.com/v1/");
        let elsewhere = of("openai", "http://localhost:8000/v1");
        let behind_another = of("deepseek", "https://proxy.internal/deepseek");
        let nobody = of("nobody", "https://nobody.example/v1");

        assert_eq!(
            [own.name, elsewhere.name, behind_another.name, nobody.name],
            ["openai", "", "deepseek", ""]
        );
        assert!(!own.takes_schema_in_json_mode && elsewhere.takes_schema_in_json_mode);
        assert_eq!(elsewhere.rungs, RUNGS);
        assert!(elsewhere.takes_stream_options);
    }

    #[test]
    fn a_form_that_a_host_passes_over_without_a_word_is_no_rung() {
        let rungs = |provider| of(&target(provider, "http://h/v1", "m", "{}")).rungs;

        assert_eq!(rungs("zai"), [Rung::JsonMode, Rung::Prompt]);
        assert_eq!(rungs("minimax"), [Rung::Prompt]);
        assert_eq!(rungs("deepseek"), FORMLESS);
        assert_eq!(rungs("moonshot"), RUNGS);
    }

    #[test]
    fn as_many_texts_are_embedded_at_once_as_the_host_takes() {
        let batch = |provider| of(&target(provider, "http://h/v1", "m", "{}")).embedding_batch;

        let batches = ["nobody", "voyage", "upstage", "dashscope", "tei"].map(batch);

        assert_eq!(batches, [512, 1000, 100, 10, 32]);
    }

    #[test]
    fn ids_are_short_where_openais_models_are() {
        let longest = |provider, api_base, model| {
            let target = target(provider, api_base, model, "{}");
            longest_id(&target)
        };
        let (openai, elsewhere) = ("https://api.openai.com/v1", "http://h/v1");

        assert_eq!(longest("openai", openai, "gpt-4.1"), SHORT_ID);
        assert_eq!(longest("azure", elsewhere, "mine"), SHORT_ID);
        assert_eq!(longest("openrouter", elsewhere, "openai/gpt-5"), SHORT_ID);
        let long = [
            longest("openrouter", elsewhere, "google/gemini-3-pro"),
            longest("openai", elsewhere, "gpt-4.1"),
            longest("litellm", elsewhere, "openai/gpt-4.1"),
            longest("moonshot", elsewhere, "kimi-k2.5"),
        ];
        assert_eq!(long, [usize::MAX; 4]);
    }

    #[test]
    fn a_limit_has_the_name_that_the_host_takes() {
        let openai = "https://api.openai.com/v1";
        let name = |provider, api_base, model, options| {
            let target = target(provider, api_base, model, options);
            of(&target).limit.other_name(&target)
        };
        let old = r#"{"max_tokens":9}"#;
        let new = r#"{"max_completion_tokens":9}"#;
        let both = r#"{"max_tokens":9,"max_completion_tokens":9}"#;

        assert_eq!(
            name("openai", openai, "gpt-5-mini", old),
            Some((OLD_LIMIT, NEW_LIMIT))
        );
        assert_eq!(
            name("openai", openai, "o3", old),
            Some((OLD_LIMIT, NEW_LIMIT))
        );
        assert_eq!(
            name("openai", openai, "gpt-6-luna", old),
            Some((OLD_LIMIT, NEW_LIMIT))
        );
        assert_eq!(name("openai", openai, "o3", new), None);
        assert_eq!(name("openai", openai, "o3", both), None);
        assert_eq!(name("openai", openai, "o3", r#"{"max_tokens":null}"#), None);
        assert_eq!(name("openai", openai, "gpt-4.1", old), None);
        assert_eq!(name("openai", "http://h/v1", "o3", old), None);
        assert_eq!(
            name("deepseek", "http://h/v1", "m", new),
            Some((NEW_LIMIT, OLD_LIMIT))
        );
        assert_eq!(name("deepseek", "http://h/v1", "m", both), None);
        assert_eq!(
            name("nvidia", "http://h/v1", "m", new),
            Some((NEW_LIMIT, OLD_LIMIT))
        );
    }
}
