//! Embeddings: three methods that differ in their bodies, and what they answer
//! (<https://ai.google.dev/api/embeddings>,
//! <https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/text-embeddings-api>).

use domain::{
    EmbeddingRequest, Embeddings, Json, JsonObject, Usage, UsageReport,
    seams::{ProviderError, Target},
};
use serde_json::{Value, json};

use super::{answer, place::Place};
use crate::{
    count::whole,
    embedding,
    vocabulary::{
        self,
        Fate::{LeftOut, Own},
        ONE_ENCODING, Vocabulary,
    },
    wire::Fault,
};

/// Options of the OpenAI dialect; Google's own are `taskType`, `title`, `autoTruncate` and the like.
pub(super) const VOCABULARY: Vocabulary = &[
    ("dimensions", Own),
    ("encoding_format", ONE_ENCODING),
    ("user", LeftOut("has no place for an end user's id")),
];
/// Options that belong to each text, by the name that Vertex AI has them under.
const OF_TEXTS: [(&str, &str); 3] = [
    ("taskType", "task_type"),
    ("task_type", "task_type"),
    ("title", "title"),
];
const LENGTH: &str = "outputDimensionality";

/// How vectors are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    /// Many texts, in AI Studio.
    Batch,
    /// One text, on Vertex AI.
    Content,
    /// Vertex AI's older way, which its older models have alone.
    Predict,
}

impl Manner {
    /// How the target is asked.
    pub(super) fn of(place: Place, target: &Target) -> Self {
        let is_newer = target.model.contains("gemini") && !target.model.contains("embedding-001");
        match place {
            Place::Studio => Self::Batch,
            Place::Vertex if is_newer => Self::Content,
            Place::Vertex => Self::Predict,
        }
    }

    pub(super) const fn method(self) -> &'static str {
        match self {
            Self::Batch => "batchEmbedContents",
            Self::Content => "embedContent",
            Self::Predict => "predict",
        }
    }

    /// How many texts one request may have.
    pub(super) fn batch(self, target: &Target) -> usize {
        match self {
            Self::Batch => 100,
            Self::Content => 1,
            Self::Predict if target.model.contains("gemini") => 1,
            // Of 250 texts, 20,000 tokens in all: this many of the longest.
            Self::Predict => 9,
        }
    }

    /// The body for those texts.
    pub(super) fn body(
        self,
        target: &Target,
        request: &EmbeddingRequest,
    ) -> Result<Value, ProviderError> {
        vocabulary::check(target, VOCABULARY)?;
        let carried = vocabulary::carried(target, VOCABULARY);
        let mut options: JsonObject = carried
            .map(|(name, value)| (name.to_owned(), value.clone()))
            .collect();
        if let Some(dimensions) = target.options.get("dimensions") {
            options.insert(LENGTH.to_owned(), dimensions.clone());
        }
        let content = |text: &String| json!({ "parts": [{ "text": text }] });
        let input = request.input.iter();
        Ok(match self {
            Self::Batch => {
                let model = if target.model.contains('/') {
                    target.model.clone()
                } else {
                    format!("models/{}", target.model)
                };
                let requests = input.map(|text| {
                    let named = json!({ "model": model, "content": content(text) });
                    with(named, &options)
                });
                json!({ "requests": requests.collect::<Vec<_>>() })
            }
            Self::Content => {
                let texts = input.map(|text| json!({ "text": text }));
                let content = json!({ "content": { "parts": texts.collect::<Vec<_>>() } });
                if options.is_empty() {
                    return Ok(content);
                }
                let config =
                    JsonObject::from_iter([("embedContentConfig".to_owned(), Json::of(&options))]);
                with(content, &config)
            }
            Self::Predict => {
                let mut of_text = JsonObject::new();
                for (option, member) in OF_TEXTS {
                    if let Some(value) = options.shift_remove(option) {
                        of_text.insert(member.to_owned(), value);
                    }
                }
                let instances = input.map(|text| with(json!({ "content": text }), &of_text));
                let body = json!({ "instances": instances.collect::<Vec<_>>() });
                let parameters = Json::of(&options);
                if options.is_empty() {
                    return Ok(body);
                }
                with(
                    body,
                    &JsonObject::from_iter([("parameters".to_owned(), parameters)]),
                )
            }
        })
    }
}

fn with(mut value: Value, members: &JsonObject) -> Value {
    for (name, member) in members {
        value[name] = member.to_value();
    }
    value
}

/// Reads the vectors, in whichever of the three shapes they come.
pub(super) fn embeddings(
    target: &Target,
    request: &EmbeddingRequest,
    body: &[u8],
) -> Result<Embeddings, Fault> {
    let answer = answer::value(body)?;
    let items: Vec<&Value> = if let Some(items) = answer["embeddings"].as_array() {
        items.iter().map(|item| &item["values"]).collect()
    } else if let Some(items) = answer["predictions"].as_array() {
        let items = items.iter();
        items.map(|item| &item["embeddings"]["values"]).collect()
    } else if answer["embedding"].is_object() {
        vec![&answer["embedding"]["values"]]
    } else {
        return Err(Fault::protocol("the provider's answer has no vectors"));
    };
    let dimensions = embedding::dimensions(&target.options, &["dimensions", LENGTH]);
    Ok(Embeddings {
        vectors: embedding::vectors(&items, request.input.len(), dimensions)?,
        usage: input_tokens(&answer),
    })
}

/// The provider's count: of the answer, or of each text, where there is one.
pub(super) fn input_tokens(answer: &Value) -> Option<UsageReport> {
    let usage = &answer["usageMetadata"];
    let (counted, raw) = if let Some(counted) = whole(&usage["promptTokenCount"]) {
        (counted, Json::of(usage))
    } else {
        let items = answer["predictions"].as_array()?.iter();
        let statistics: Vec<&Value> = items
            .map(|item| &item["embeddings"]["statistics"])
            .collect();
        let mut counts = statistics.iter().map(|it| whole(&it["token_count"]));
        let counted = counts.try_fold(0_u64, |sum, count| sum.checked_add(count?))?;
        (counted, Json::of(&statistics))
    };
    Some(UsageReport {
        usage: Usage {
            input_tokens: counted,
            ..Usage::default()
        },
        cost: None,
        raw: Some(raw),
    })
}
