//! Embeddings: texts as vectors (`interface.md` 6).

use std::sync::Arc;

use async_trait::async_trait;
use domain::{
    Cost, EmbeddingRequest, Embeddings as Vectors, Invalid, Json, JsonObject, ModelChoice,
    ModelName, ModelSpec, Principal, ProjectScope, SpanId, SpanKind, Tags, Usage,
    seams::{ProviderError, ProviderErrorKind as Kind},
};
use futures_util::FutureExt;

use crate::{
    calls::{AskingOne, Done, Errand, Errands, Noted, Place, spec},
    error::{Error, Step},
    parts::{Cut, Parts},
    route::{DIMENSIONS, Purpose, Route, Routes, Stop},
    tokens::{self, Vocabulary},
};

/// How many texts one request may have.
pub const MAX_TEXTS: usize = 2048;
/// How many tokens the default model takes of one text.
const MAX_TOKENS: usize = 8191;
/// How long its vectors are.
const DEFAULT_LENGTH: usize = 1536;

/// The service of embeddings.
pub struct Embeddings {
    errands: Arc<Errands>,
}

/// Texts to embed.
#[derive(Debug, Clone, Default)]
pub struct EmbeddingCall {
    /// The texts.
    pub input: Vec<String>,
    /// Who embeds; the default model when absent.
    pub model: Option<ModelSpec>,
    /// Who embeds when nobody of `model` can.
    pub fallbacks: Vec<ModelChoice>,
    /// Laid over the options of each model.
    pub options: JsonObject,
    /// The span under which it is recorded.
    pub parent_span_id: Option<SpanId>,
    /// Kept with the span.
    pub tags: Tags,
}

/// Texts that were embedded.
#[derive(Debug, Clone, PartialEq)]
pub struct Embedded {
    /// The span that recorded it.
    pub span_id: SpanId,
    /// The name that was asked for: of several models the one that answered, of none the default's.
    pub model: String,
    /// One vector per text, in their order, all of one length.
    pub vectors: Vec<Vec<f32>>,
    /// The tokens that it took.
    pub usage: Usage,
    /// What it cost.
    pub cost: Cost,
}

/// Texts to embed by one model of a list.
pub(crate) struct Embedding {
    spec: ModelSpec,
    request: Arc<EmbeddingRequest>,
    place: Place,
    /// Whose vectors have the default's length, where no other was asked for.
    default: Option<ModelName>,
    /// Who may be asked.
    among: Among,
}

/// Which models of a list may be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Among {
    /// All, in order.
    All,
    /// The first that knows what texts mean, which what is built in does not. Vectors of two models say nothing about each
    /// other, so that another one is no help where they are to be compared.
    FirstWithMeaning,
}

impl Embeddings {
    pub(crate) fn new(errands: Arc<Errands>) -> Self {
        Self { errands }
    }

    /// Makes vectors of texts, with the default model if none is named.
    ///
    /// # Errors
    /// `RequestValidation` for texts and options that are none, and `NotFound` for an unknown parent span, before anything
    /// is recorded; `ContextWindowExceeded` for a text that is too long for the default model, before that is sent anything;
    /// `BadRequest` for models that cannot be asked, `Upstream` and its kin for hosts that fail.
    pub async fn embed(
        &self,
        caller: &Principal,
        mut call: EmbeddingCall,
    ) -> Result<Embedded, Error> {
        check_texts(&call.input)?;
        make_whole(&mut call.options).map_err(|invalid| invalid.at(DIMENSIONS))?;
        let default = self.errands.routes().default_embedding();
        let first = match &call.model {
            None => ModelSpec::One(ModelChoice::plain(default.clone())),
            Some(spec) => with_whole_dimensions(spec)?,
        };
        let spec = spec(&first, call.fallbacks, &call.options);
        let asked = match spec.choices() {
            [choice] => Some(choice.name.to_string()),
            _ => None,
        };
        let errand = Embedding {
            spec,
            request: Arc::new(EmbeddingRequest { input: call.input }),
            place: Place {
                parent: call.parent_span_id,
                tags: call.tags,
            },
            default: call.model.is_none().then(|| default.clone()),
            among: Among::All,
        };
        let Done {
            span_id,
            model,
            got,
            usage,
            cost,
        } = self.errands.run(caller.scope(), errand).await?;
        Ok(Embedded {
            span_id,
            model: asked.unwrap_or_else(|| model.to_string()),
            vectors: got,
            usage,
            cost,
        })
    }
}

impl Embedding {
    /// Of texts whose vectors are compared with others of the same model.
    pub(crate) fn to_compare(spec: ModelSpec, input: Vec<String>) -> Self {
        Self {
            spec,
            request: Arc::new(EmbeddingRequest { input }),
            place: Place::default(),
            default: None,
            among: Among::FirstWithMeaning,
        }
    }

    /// The request for a part of the texts.
    fn part(&self, cut: Cut) -> Arc<EmbeddingRequest> {
        let input = &self.request.input;
        if cut.len() == input.len() {
            return self.request.clone();
        }
        let input = input[cut].to_vec();
        Arc::new(EmbeddingRequest { input })
    }

    /// Refuses texts of more tokens than the default model takes.
    async fn check_lengths(&self, model: &str) -> Result<(), ProviderError> {
        let vocabulary = Vocabulary::of(model);
        let is_long = |text: &&String| text.len() > MAX_TOKENS;
        let bytes = self.request.input.iter().filter(is_long);
        let bytes: usize = bytes.map(String::len).sum();
        let request = self.request.clone();
        let first = move |vocabulary: Vocabulary| {
            let mut texts = request.input.iter().enumerate();
            texts.find_map(|(index, text)| {
                let count = vocabulary.count_above(text, MAX_TOKENS)?;
                Some((index, count))
            })
        };
        let Some((index, count)) = tokens::beside(vocabulary, bytes, first).await.flatten() else {
            return Ok(());
        };
        let reason = format!(
            "the text at index {index} of `input` has {count} tokens; the default embedding model takes {MAX_TOKENS}"
        );
        Err(ProviderError::new(Kind::ContextWindow, reason))
    }

    /// Whether a text may have more tokens than the default model takes: no token is shorter than a byte.
    fn may_be_too_long(&self) -> bool {
        let mut texts = self.request.input.iter();
        texts.any(|text| text.len() > MAX_TOKENS)
    }
}

#[async_trait]
impl Errand for Embedding {
    type Got = Vec<Vec<f32>>;

    const KIND: SpanKind = SpanKind::EMBEDDING;

    fn input(&self) -> Json {
        Json::of(&self.request.input)
    }

    fn place(&self) -> Place {
        self.place.clone()
    }

    async fn route(&self, routes: &Routes, scope: ProjectScope) -> Result<Route, Error> {
        let route = routes
            .resolve(Purpose::Embedding, scope, &self.spec)
            .await?;
        if self.among == Among::All {
            return Ok(route);
        }
        let mut stops = route.into_iter();
        Ok(stops.find(Stop::has_meaning).into_iter().collect())
    }

    async fn ask(&self, asking: &AskingOne<'_>) -> Result<Vec<Vec<f32>>, ProviderError> {
        let target = &asking.reachable.target;
        let wanted = target.options.get(DIMENSIONS);
        let wanted: Option<usize> = wanted.and_then(|length| length.text().parse().ok());
        if self.may_be_too_long() && asking.is_default_embedding() {
            self.check_lengths(&target.model).await?;
        }
        let is_default = self.default.as_ref() == Some(&target.name);
        let wanted = wanted.or(is_default.then_some(DEFAULT_LENGTH));
        let provider = &asking.reachable.provider;
        // No token is shorter than a byte.
        let (most, most_bytes) = (
            provider.embedding_batch(target),
            provider.embedding_tokens(target),
        );
        let parts = Parts::of(&self.request.input, most, most_bytes);
        let ask = |cut: Cut| {
            let request = self.part(cut);
            async move {
                let check = |came: &Vectors| check(came, request.input.len(), wanted);
                asking.embed(&request, check).await
            }
            .boxed()
        };
        let parts = parts.ask(asking.is_on_probation(), ask).await?;
        let parts: Vec<Vec<Vec<f32>>> = parts.into_iter().map(|(_, vectors)| vectors).collect();
        let vectors = parts.concat();
        // Each part is of one length; the parts need not be of the same.
        let length = vectors.first().map_or(0, Vec::len);
        if vectors.iter().any(|vector| vector.len() != length) {
            return Err(protocol(
                "the provider answered with vectors of several lengths",
            ));
        }
        Ok(vectors)
    }

    fn noted(&self, got: &Vec<Vec<f32>>) -> Noted {
        let dimensions = got.first().map_or(0, Vec::len);
        let members = [("count", got.len()), (DIMENSIONS, dimensions)];
        let meta: JsonObject = members
            .into_iter()
            .map(|(name, number)| (name.to_owned(), Json::of(&number)))
            .collect();
        Noted {
            // The vectors themselves would be longer than all that they were made of.
            output: Json::of(&meta),
            meta,
        }
    }
}

impl Stop {
    /// Whether it leads to a model that knows what texts mean.
    pub(crate) fn has_meaning(&self) -> bool {
        let reachable = self.leads_to.as_ref();
        reachable.is_ok_and(|reachable| reachable.target.api_base.is_some())
    }
}

/// Whether vectors came as many as texts went, each of numbers and of the length that was asked for.
fn check(came: &Vectors, texts: usize, wanted: Option<usize>) -> Result<(), ProviderError> {
    let vectors = &came.vectors;
    if vectors.len() != texts {
        let found = vectors.len();
        let reason = format!("the provider answered {texts} texts with {found} vectors");
        return Err(protocol(reason));
    }
    let length = wanted.or_else(|| vectors.first().map(Vec::len));
    for vector in vectors {
        if vector.is_empty() || Some(vector.len()) != length {
            let found = vector.len();
            let length = length.filter(|length| *length > 0);
            let length = length.map_or_else(String::new, |length| format!(" instead of {length}"));
            return Err(protocol(format!(
                "the provider answered with vectors of length {found}{length}"
            )));
        }
        if !vector.iter().all(|number| number.is_finite()) {
            return Err(protocol("a vector of the provider's answer is none"));
        }
    }
    Ok(())
}

fn protocol(reason: impl Into<String>) -> ProviderError {
    ProviderError::new(Kind::Protocol, reason)
}

fn check_texts(input: &[String]) -> Result<(), Error> {
    let refused = |slug, message: String, index: Option<usize>| {
        let loc = [Step::Name("input".to_owned())].into_iter();
        let loc = loc.chain(index.map(Step::Index));
        Err(Error::invalid_at(loc, &Invalid::new(slug, message)))
    };
    if input.is_empty() {
        return refused("too_short", "at least one text".to_owned(), None);
    }
    if input.len() > MAX_TEXTS {
        return refused("too_long", format!("at most {MAX_TEXTS} texts"), None);
    }
    match input.iter().position(String::is_empty) {
        Some(index) => {
            let message = "a text must not be empty".to_owned();
            // One text alone may have come without a list around it.
            refused(
                "string_too_short",
                message,
                Some(index).filter(|_| input.len() > 1),
            )
        }
        None => Ok(()),
    }
}

/// The spec with the length of vectors as the whole number that it must be, where one is asked for.
fn with_whole_dimensions(spec: &ModelSpec) -> Result<ModelSpec, Error> {
    let one = |choice: &ModelChoice, index: Option<usize>| {
        let mut choice = choice.clone();
        make_whole(&mut choice.options).map_err(|invalid| {
            let model = [Step::Name("model".to_owned())].into_iter();
            let names = ["options", DIMENSIONS].map(|name| Step::Name(name.to_owned()));
            let loc = model.chain(index.map(Step::Index)).chain(names);
            Error::invalid_at(loc, &invalid)
        })?;
        Ok::<_, Error>(choice)
    };
    Ok(match spec {
        ModelSpec::One(choice) => ModelSpec::One(one(choice, None)?),
        ModelSpec::Fallbacks(choices) => {
            let choices = choices.iter().enumerate();
            let choices = choices.map(|(index, choice)| one(choice, Some(index)));
            ModelSpec::Fallbacks(choices.collect::<Result<_, Error>>()?)
        }
    })
}

/// The length of vectors among the options as the whole number that it must be, if one is asked for.
fn make_whole(options: &mut JsonObject) -> Result<(), Invalid> {
    let Some(given) = options.get(DIMENSIONS) else {
        return Ok(());
    };
    if given.is_null() {
        options.shift_remove(DIMENSIONS);
        return Ok(());
    }
    let length = Json::of(&whole_length(given)?);
    options.insert(DIMENSIONS.to_owned(), length);
    Ok(())
}

/// The length of vectors that is asked for: a whole number of at least 1, as `3` and `3.0` (`interface.md` 1.3).
fn whole_length(given: &Json) -> Result<u32, Invalid> {
    let number = given.to_value().as_f64();
    let number = number.filter(|number| number.fract() == 0.0);
    let Some(number) = number else {
        return Err(Invalid::new("int_type", "must be a whole number"));
    };
    if number < 1.0 {
        return Err(Invalid::new("greater_than_equal", "must be at least 1"));
    }
    if number > f64::from(u32::MAX) {
        let message = format!("must be at most {}", u32::MAX);
        return Err(Invalid::new("less_than_equal", message));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the number is whole and within the range"
    )]
    Ok(number as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vectors(vectors: &[&[f32]]) -> Vectors {
        Vectors {
            vectors: vectors.iter().map(|vector| vector.to_vec()).collect(),
            usage: None,
        }
    }

    #[test]
    fn vectors_must_be_as_many_as_texts_and_as_long_as_was_asked_for() {
        let one: &[f32] = &[1.0, 0.5];

        assert!(check(&vectors(&[one, one]), 2, None).is_ok());
        assert!(check(&vectors(&[one, one]), 2, Some(2)).is_ok());
        for (came, texts, wanted) in [
            (vectors(&[one]), 2, None),
            (vectors(&[one, one]), 1, None),
            (vectors(&[one, one]), 2, Some(3)),
            (vectors(&[one, &[1.0]]), 2, None),
            (vectors(&[&[]]), 1, None),
            (vectors(&[&[f32::NAN]]), 1, None),
        ] {
            let failure = check(&came, texts, wanted).unwrap_err();
            assert_eq!(failure.kind, Kind::Protocol, "{came:?}");
        }
    }

    #[test]
    fn a_length_is_a_whole_number_of_at_least_one() {
        let read =
            |text: &str| whole_length(&Json::parse(text).unwrap()).map_err(|fault| fault.slug);

        assert_eq!((read("1"), read("3.0")), (Ok(1), Ok(3)));
        assert_eq!(read("0"), Err("greater_than_equal"));
        assert_eq!(read("5000000000"), Err("less_than_equal"));
        for text in ["1.5", "\"3\"", "true", "[]"] {
            assert_eq!(read(text), Err("int_type"), "{text}");
        }
    }
}
