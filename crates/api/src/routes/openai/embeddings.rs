//! `/v2/openai/embeddings`: texts as vectors, in the ecosystem's shape.

use std::fmt;

use axum::{extract::State, response::Response};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use domain::{Cost, Invalid, JsonObject, ModelChoice, ModelSpec, SpanId, Tags};
use engine::{Code, Embedded, EmbeddingCall, Error};
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{self, MapAccess, Visitor},
};
use utoipa::ToSchema;

use super::{input::Input, request::Fallbacks};
use crate::{
    doors::Doors,
    extract::{Body, Caller, RequestBody},
    problem::{ErrorBody, Problem},
    routes::recorded,
    schemas,
};

/// What embeddings take. Members that are not named here go to the model as they are.
#[derive(ToSchema)]
#[schema(as = OpenAiEmbeddingRequest)]
pub(crate) struct CreateEmbeddings {
    #[schema(value_type = schemas::Texts)]
    input: Input,
    /// Who is asked; the default embedding model when absent.
    #[schema(value_type = Option<schemas::ModelSpec>)]
    model: Option<ModelSpec>,
    /// Who is asked when nobody of `model` can be, in this order.
    #[schema(value_type = Option<Vec<schemas::ModelItem>>, max_items = 16)]
    fallback_models: Vec<ModelChoice>,
    /// Kept with the span. Values are strings, numbers or booleans.
    #[schema(value_type = Option<BTreeMap<String, schemas::TagValue>>)]
    tags: Option<Tags>,
    /// The span under which it is recorded.
    #[schema(value_type = Option<uuid::Uuid>)]
    parent_span_id: Option<SpanId>,
    /// How a vector is written; `float` when absent.
    encoding_format: Option<Encoding>,
    /// The model's.
    #[schema(ignore)]
    options: JsonObject,
}

/// How a vector is written.
#[derive(Clone, Copy, Default, ToSchema)]
#[schema(as = EmbeddingEncoding)]
enum Encoding {
    /// As numbers.
    #[default]
    #[schema(rename = "float")]
    Float,
    /// As the base64 of 32-bit floats, low byte first.
    #[schema(rename = "base64")]
    Base64,
}

/// Vectors, one per text. The last two members are the gateway's own.
#[derive(Serialize, ToSchema)]
#[schema(as = OpenAiEmbeddings)]
pub(crate) struct EmbeddingsBody {
    /// `list`.
    object: &'static str,
    data: Vec<EmbeddingBody>,
    /// The model that answered.
    model: String,
    usage: EmbeddingsUsage,
    #[schema(value_type = schemas::Cost)]
    cost: Cost,
    /// The span that recorded it.
    #[schema(value_type = uuid::Uuid)]
    span_id: SpanId,
}

/// One vector.
#[derive(Serialize, ToSchema)]
#[schema(as = OpenAiEmbedding)]
struct EmbeddingBody {
    /// `embedding`.
    object: &'static str,
    /// Which text's.
    index: usize,
    embedding: VectorBody,
}

/// Numbers, or their base64.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
#[schema(as = OpenAiVector)]
enum VectorBody {
    Numbers(Vec<f32>),
    Base64(String),
}

/// The tokens that it took.
#[derive(Serialize, ToSchema)]
#[schema(as = OpenAiEmbeddingsUsage)]
struct EmbeddingsUsage {
    prompt_tokens: u64,
    total_tokens: u64,
}

/// Create embeddings
#[utoipa::path(post, operation_id = "create_openai_embeddings", path = "/openai/embeddings", tag = "openai", request_body = CreateEmbeddings, responses(
    (status = 200, description = "The vectors; their span can be read at once", body = EmbeddingsBody,
        headers(("X-Span-Id" = uuid::Uuid, description = "The span that recorded them"))),
    (status = 400, description = "The call cannot be done", body = ErrorBody),
    (status = 404, description = "There is no such parent span", body = ErrorBody),
))]
pub(crate) async fn create(
    State(doors): State<Doors>,
    caller: Caller,
    body: Body<CreateEmbeddings>,
) -> Result<Response, Problem> {
    let encoding = body.value.encoding_format.unwrap_or_default();
    let call = EmbeddingCall {
        input: texts(body.value.input)?,
        model: body.value.model,
        fallbacks: body.value.fallback_models,
        options: body.value.options,
        parent_span_id: body.value.parent_span_id,
        tags: body.value.tags.unwrap_or_default(),
    };
    let embedded = doors.gateway.embeddings.embed(&caller, call).await?;
    let span_id = embedded.span_id;
    Ok(recorded(span_id, EmbeddingsBody::of(embedded, encoding)))
}

/// How many there may be, and that none is empty, is the engine's to say.
fn texts(input: Input) -> Result<Vec<String>, Problem> {
    match input {
        Input::Texts(texts) => Ok(texts),
        Input::Tokens => {
            let reason = "`input` holds tokens, which mean something to one model only: send the text itself";
            Err(Error::text(Code::BadRequest, reason).into())
        }
    }
}

impl RequestBody for CreateEmbeddings {}

impl<'de> Deserialize<'de> for CreateEmbeddings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Members)
    }
}

struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = CreateEmbeddings;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
        let (mut input, mut model, mut encoding_format) = (None, None, None);
        let (mut tags, mut parent_span_id) = (None, None);
        let (mut fallback_models, mut options) = (Vec::new(), JsonObject::new());
        while let Some(name) = members.next_key::<String>()? {
            match name.as_str() {
                "input" => input = members.next_value()?,
                "model" => model = members.next_value()?,
                "fallback_models" => fallback_models = members.next_value::<Fallbacks>()?.0,
                "tags" => tags = members.next_value()?,
                "parent_span_id" => parent_span_id = members.next_value()?,
                "encoding_format" => encoding_format = members.next_value()?,
                _ => {
                    let value: domain::Json = members.next_value()?;
                    if !value.is_null() {
                        options.insert(name, value);
                    }
                }
            }
        }
        Ok(CreateEmbeddings {
            input: input.ok_or_else(|| de::Error::missing_field("input"))?,
            model,
            fallback_models,
            tags,
            parent_span_id,
            encoding_format,
            options,
        })
    }
}

impl<'de> Deserialize<'de> for Encoding {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match String::deserialize(deserializer)?.as_str() {
            "float" => Ok(Self::Float),
            "base64" => Ok(Self::Base64),
            _ => Err(de::Error::custom(Invalid::new(
                "enum",
                "must be one of: float, base64",
            ))),
        }
    }
}

impl EmbeddingsBody {
    fn of(embedded: Embedded, encoding: Encoding) -> Self {
        let data = embedded.vectors.into_iter().enumerate();
        let data = data.map(|(index, vector)| EmbeddingBody {
            object: "embedding",
            index,
            embedding: VectorBody::of(vector, encoding),
        });
        Self {
            object: "list",
            data: data.collect(),
            model: embedded.model,
            usage: EmbeddingsUsage {
                prompt_tokens: embedded.usage.input_tokens,
                total_tokens: embedded.usage.total_tokens(),
            },
            cost: embedded.cost,
            span_id: embedded.span_id,
        }
    }
}

impl VectorBody {
    fn of(vector: Vec<f32>, encoding: Encoding) -> Self {
        match encoding {
            Encoding::Float => Self::Numbers(vector),
            Encoding::Base64 => {
                let bytes: Vec<u8> = vector.into_iter().flat_map(f32::to_le_bytes).collect();
                Self::Base64(BASE64_STANDARD.encode(bytes))
            }
        }
    }
}
