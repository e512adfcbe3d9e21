//! `/v2/embeddings`: texts as vectors.

use axum::{extract::State, response::Response};
use domain::{Invalid, ModelSpec};
use engine::{Embedded, EmbeddingCall, MAX_TEXTS};
use serde::{Deserialize, Deserializer, Serialize, de};
use utoipa::ToSchema;

use crate::{
    doors::Doors,
    extract::{Body, Caller, RequestBody},
    problem::{ErrorBody, Problem},
    routes::recorded,
    schemas,
};

/// Texts to embed.
#[derive(Deserialize, ToSchema)]
pub(crate) struct CreateEmbeddings {
    /// One text, or up to 2048 of them; none may be empty.
    #[schema(value_type = schemas::EmbeddingInput)]
    input: Texts,
    /// Who embeds; the default embedding model when absent. `options.dimensions` asks for vectors of that length.
    #[schema(value_type = Option<schemas::ModelSpec>)]
    model: Option<ModelSpec>,
}

/// Vectors.
#[derive(Serialize, ToSchema)]
#[schema(as = Embeddings)]
pub(crate) struct EmbeddingsBody {
    /// The name that was asked for, the default's if none was.
    model: String,
    /// One vector per text, in their order.
    data: Vec<EmbeddingBody>,
    usage: EmbeddingUsage,
}

/// The vector of one text.
#[derive(Serialize, ToSchema)]
#[schema(as = Embedding)]
pub(crate) struct EmbeddingBody {
    /// The vector.
    embedding: Vec<f32>,
    /// The text's place in the request, from 0.
    index: usize,
}

/// Tokens sent.
#[derive(Serialize, ToSchema)]
pub(crate) struct EmbeddingUsage {
    /// The tokens of all texts.
    prompt_tokens: u64,
    /// The same.
    total_tokens: u64,
}

/// One text or several.
struct Texts(Vec<String>);

impl<'de> Deserialize<'de> for Texts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Texts;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a string, or a list of strings")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Texts, E> {
                Ok(Texts(vec![text.to_owned()]))
            }

            fn visit_seq<A: de::SeqAccess<'de>>(self, mut items: A) -> Result<Texts, A::Error> {
                let mut texts = Vec::new();
                // One too many is enough to know that there are; the engine says so.
                while texts.len() <= MAX_TEXTS
                    && let Some(text) = items.next_element()?
                {
                    texts.push(text);
                }
                while items.next_element::<de::IgnoredAny>()?.is_some() {}
                Ok(Texts(texts))
            }

            fn visit_unit<E: de::Error>(self) -> Result<Texts, E> {
                // A required field that is `null` is one that is absent.
                Err(E::custom(Invalid::new("missing", "this field is required")))
            }
        }

        deserializer.deserialize_any(Visitor)
    }
}

/// Create embeddings
///
/// The default model takes texts of up to 8191 tokens and makes vectors of 1536 dimensions. More texts than a provider
/// takes at once go out in several requests, which is not seen in the answer.
#[utoipa::path(post, operation_id = "create_embeddings", path = "/embeddings", tag = "embeddings", request_body = CreateEmbeddings, responses(
    (status = 200, description = "The vectors; their span can be read at once", body = EmbeddingsBody,
        headers(("X-Span-Id" = uuid::Uuid, description = "The span that recorded it"))),
    (status = 400, description = "No model can be asked for this, or a text is too long for the model", body = ErrorBody),
))]
pub(crate) async fn create(
    State(doors): State<Doors>,
    caller: Caller,
    body: Body<CreateEmbeddings>,
) -> Result<Response, Problem> {
    let CreateEmbeddings { input, model } = body.value;
    let embeddings = &doors.gateway.embeddings;
    let call = EmbeddingCall {
        input: input.0,
        model,
        ..EmbeddingCall::default()
    };
    let embedded = embeddings.embed(&caller, call).await?;
    Ok(recorded(embedded.span_id, EmbeddingsBody::from(embedded)))
}

impl RequestBody for CreateEmbeddings {}

impl From<Embedded> for EmbeddingsBody {
    fn from(embedded: Embedded) -> Self {
        let vectors = embedded.vectors.into_iter().enumerate();
        Self {
            model: embedded.model,
            data: vectors
                .map(|(index, embedding)| EmbeddingBody { embedding, index })
                .collect(),
            usage: EmbeddingUsage {
                prompt_tokens: embedded.usage.input_tokens,
                total_tokens: embedded.usage.total_tokens(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_short_as_they_are() {
        let body = EmbeddingBody {
            embedding: vec![0.1, -1.0, 0.012_345_678, 1e-9, 16_777_216.0],
            index: 0,
        };

        let text = serde_json::to_string(&body).unwrap();

        assert_eq!(
            text,
            r#"{"embedding":[0.1,-1.0,0.012345678,1e-9,16777216.0],"index":0}"#
        );
    }
}
