//! The table of hosts in `docs/providers.md`, made from the rows.

use domain::Json;
use testkit::files;

use crate::adapter::EMBEDDING_TOKENS;

use super::{
    DIMENSIONS, EMBEDDING_BATCH, Fetched, Limit, NEW_LIMIT, OLD_LIMIT, OPENAI, RUNGS, Row,
    SHORT_ID, steering::Steering, table::TABLE,
};

const HEAD: &str = "\
| host | address | key | default model | what is particular |
|---|---|---|---|---|
";

/// `UPDATE_DOCS=1` writes it.
#[test]
fn every_host_is_in_the_table_of_the_page() {
    let rows: String = TABLE.iter().map(line).collect();

    files::hold("providers.md", "hosts", &format!("{HEAD}{rows}"));
}

fn line(row: &Row) -> String {
    let code = |text: &str| format!("`{text}`");
    let key = row.key_variable.map(code).unwrap_or_default();
    let model = row.default_model.map(code).unwrap_or_default();
    format!(
        "| `{}` | `{}` | {key} | {model} | {} |\n",
        row.name,
        row.api_base,
        particulars(row).join("; ")
    )
}

/// Wherein the host is not as the others are.
fn particulars(row: &Row) -> Vec<String> {
    // Whatever a row says has to be told: a new field does not compile until it is.
    let Row {
        name: _,
        protocol,
        api_base: _,
        key_variable: _,
        default_model: _,
        default_embedding_model,
        rungs,
        takes_stream_options,
        takes_schema_in_json_mode,
        limit,
        embedding_batch,
        embedding_tokens,
        dimensions,
        rerank_batch,
        takes_base64,
        short_ids,
        fetches,
        steering,
    } = *row;
    let dialect = (protocol != OPENAI).then(|| format!("speaks `{protocol}`"));
    let values = (rungs != RUNGS).then(|| {
        let rungs = rungs.iter().map(|rung| Json::of(rung).as_string());
        let rungs = rungs.flatten().map(|rung| code_of(&rung));
        format!("values by {}", listed(rungs))
    });
    let beside = takes_schema_in_json_mode.then(|| "a schema beside `json_object`".to_owned());
    let streaming = (!takes_stream_options).then(|| "no `stream_options`".to_owned());
    let limit = match limit {
        Limit::AsGiven => None,
        Limit::Old => Some(code_of(OLD_LIMIT)),
        Limit::NewFor(models) => Some(format!(
            "`{NEW_LIMIT}` for {}",
            beginnings(models.iter().copied())
        )),
    };
    let embedding = default_embedding_model.map(|model| format!("embeds with `{model}`"));
    let batch = (embedding_batch != EMBEDDING_BATCH)
        .then(|| format!("embeds {embedding_batch} texts at once"));
    let tokens =
        (embedding_tokens != EMBEDDING_TOKENS).then(|| format!("{embedding_tokens} tokens in all"));
    let length =
        (dimensions != DIMENSIONS).then(|| format!("`{DIMENSIONS}` goes out as `{dimensions}`"));
    let ordered =
        (rerank_batch != usize::MAX).then(|| format!("puts {rerank_batch} texts in order at once"));
    let base64 = takes_base64.then(|| "vectors in base64".to_owned());
    let ids = (!short_ids.is_empty()).then(|| {
        let models = short_ids
            .iter()
            .copied()
            .filter(|models| !models.is_empty());
        let of = beginnings(models);
        let of = if of.is_empty() {
            of
        } else {
            format!(" of {of}")
        };
        format!("ids of calls{of} have {SHORT_ID} characters at most")
    });
    let fetched = fetches.iter().map(|kind| match kind {
        Fetched::Sound => "fetches sound".to_owned(),
        Fetched::Documents => "fetches documents".to_owned(),
    });
    let steered = (!steering.is_empty()).then(|| {
        let options = steering.iter().map(|option| match option {
            Steering::At(path) => code_of(path),
            Steering::Below(path) => format!("models in `{path}`"),
        });
        format!("refused: {}", listed(options))
    });
    let told = [dialect, values, beside, streaming, limit, embedding];
    let more = [batch, tokens, length, ordered, base64, ids];
    let told = told.into_iter().chain(more).flatten();
    told.chain(fetched).chain(steered).collect()
}

fn code_of(word: &str) -> String {
    format!("`{}`", word.replace('/', "."))
}

fn beginnings(models: impl Iterator<Item = &'static str>) -> String {
    listed(models.map(|model| format!("`{model}*`")))
}

fn listed(words: impl Iterator<Item = String>) -> String {
    words.collect::<Vec<_>>().join(", ")
}
