//! Reranking on the wire: bodies of requests in each host's form, and the order that an answer tells.
//!
//! Cohere's form is the one that the others took over, with names of their own for a member or two.

use domain::{
    Json, JsonObject, Ranked, RerankRequest, Reranking, Usage, UsageReport, seams::Target,
};
use serde_json::Value;

use crate::{count::whole, openai::answer::answer, wire::Fault};

/// The tokens of a piece that Cohere cuts long texts into:
/// <https://docs.cohere.com/docs/reranking-best-practices#document-chunking>.
const PIECE_TOKENS: u64 = 510;
/// What the body says itself.
const OURS: [&str; 5] = ["model", "query", "documents", "texts", "stream"];
/// The names that a number of results has.
const COUNTS: [&str; 2] = ["top_n", "top_k"];

/// How a host words it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// <https://docs.cohere.com/reference/rerank>: a long text is cut off after a number of tokens.
    Cohere,
    /// Its first version, which vLLM, Together and many others have: a long text is cut into pieces.
    Pieces,
    /// <https://api.jina.ai/redoc#tag/rerank>: the texts come back, unless it is told not to send them.
    Jina,
    /// <https://docs.voyageai.com/reference/reranker-api>.
    Voyage,
    /// <https://huggingface.github.io/text-embeddings-inference>: one model, and no number of results.
    Tei,
}

impl Form {
    /// The form of a host that is no Cohere, by its provider's name.
    pub(crate) fn of(provider: &str) -> Self {
        match provider {
            "jina" => Self::Jina,
            "voyage" => Self::Voyage,
            "tei" => Self::Tei,
            _ => Self::Pieces,
        }
    }

    /// Cohere's own, in the version that the address ends in.
    pub(crate) fn of_cohere(target: &Target) -> Self {
        let address = target.api_base.as_deref().unwrap_or_default();
        if address.trim_end_matches('/').ends_with("/v1") {
            Self::Pieces
        } else {
            Self::Cohere
        }
    }

    /// The segment of the address in whose place the request's stands: TEI has it beside `/v1`.
    pub(crate) fn instead_of(self) -> Option<&'static str> {
        (self == Self::Tei).then_some("v1")
    }

    /// The body of a request. The target's options follow our own members, verbatim.
    pub(crate) fn body(self, target: &Target, request: &RerankRequest) -> JsonObject {
        let mut body = JsonObject::new();
        let mut put = |member: &str, value: Json| body.insert(member.to_owned(), value);
        if self != Self::Tei {
            put("model", Json::of(&target.model));
        }
        put("query", Json::of(&request.query));
        put(self.texts(), Json::of(&request.documents));
        if let (Some(member), Some(count)) = (self.count(), request.top_k) {
            put(member, Json::of(&count));
        }
        let options = target.options.iter();
        let options = options.filter(|(option, _)| {
            let is_counted = request.top_k.is_some() && COUNTS.contains(&option.as_str());
            !OURS.contains(&option.as_str()) && !is_counted
        });
        for (option, value) in options {
            put(option, value.clone());
        }
        let pieces = request.max_chunks_per_doc;
        let (member, value) = match (self, pieces) {
            (Self::Cohere, Some(pieces)) => {
                let tokens = u64::from(pieces) * PIECE_TOKENS;
                ("max_tokens_per_doc", Json::of(&tokens))
            }
            (Self::Pieces, Some(pieces)) => ("max_chunks_per_doc", Json::of(&pieces)),
            (Self::Jina, _) => ("return_documents", Json::of(&false)),
            _ => return body,
        };
        body.entry(member.to_owned()).or_insert(value);
        body
    }

    /// A sentence for what is left out.
    pub(crate) fn warnings(self, target: &Target, request: &RerankRequest) -> Vec<String> {
        match self {
            Self::Cohere | Self::Pieces => Vec::new(),
            Self::Jina | Self::Voyage | Self::Tei => without_pieces(target, request),
        }
    }

    fn texts(self) -> &'static str {
        match self {
            Self::Tei => "texts",
            _ => "documents",
        }
    }

    fn count(self) -> Option<&'static str> {
        match self {
            Self::Cohere | Self::Pieces | Self::Jina => Some("top_n"),
            Self::Voyage => Some("top_k"),
            Self::Tei => None,
        }
    }
}

/// That texts are not cut into as many pieces as was asked for.
pub(crate) fn without_pieces(target: &Target, request: &RerankRequest) -> Vec<String> {
    let warning = request.max_chunks_per_doc.map(|_| {
        let provider = &target.provider;
        format!("`max_chunks_per_doc` was left out: the dialect of `{provider}` cuts no texts into pieces")
    });
    warning.into_iter().collect()
}

/// Reads an answer of whatever form: as many texts as were wanted, each once, the best first.
pub(crate) fn reranking(
    target: &Target,
    request: &RerankRequest,
    body: &[u8],
) -> Result<Reranking, Fault> {
    let answer = answer(body)?;
    let lists = [&answer, &answer["results"], &answer["data"]];
    let list = lists.into_iter().find_map(Value::as_array);
    let list = list.ok_or_else(|| Fault::protocol("the provider's answer has no results"))?;
    let mut results = ranked(list, request.documents.len())?;
    let wanted = request
        .documents
        .len()
        .min(request.top_k.unwrap_or(usize::MAX));
    let may_be_fewer = COUNTS
        .iter()
        .any(|count| target.options.contains_key(*count));
    if results.len() < wanted && (request.top_k.is_some() || !may_be_fewer) {
        let found = results.len();
        let words = format!("the provider answered with {found} results where {wanted} were due");
        return Err(Fault::protocol(words));
    }
    // Most are in order already; those that tie keep the order of the request.
    results.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.index.cmp(&b.index)));
    results.truncate(wanted);
    Ok(Reranking {
        results,
        usage: usage(&answer),
    })
}

fn ranked(list: &[Value], documents: usize) -> Result<Vec<Ranked>, Fault> {
    let mut is_told = vec![false; documents];
    let ranked = list.iter().map(|item| {
        let index = item["index"].as_u64();
        let index = index.and_then(|index| usize::try_from(index).ok());
        let place = index.and_then(|index| Some((index, is_told.get_mut(index)?)));
        let Some((index, is_told @ false)) = place else {
            return Err(Fault::protocol("the results' indices make no sense"));
        };
        *is_told = true;
        let scores = [&item["relevance_score"], &item["score"]];
        let score = scores.into_iter().find(|score| !score.is_null());
        let score = score.and_then(Value::as_f64).filter(|it| it.is_finite());
        let score = score.ok_or_else(|| Fault::protocol("the score of a result is no number"))?;
        Ok(Ranked { index, score })
    });
    ranked.collect()
}

/// The provider's count: searches, tokens, or both.
pub(crate) fn usage(answer: &Value) -> Option<UsageReport> {
    let (usage, meta) = (&answer["usage"], &answer["meta"]);
    let billed = &meta["billed_units"];
    let tokens = [
        &usage["prompt_tokens"],
        &usage["input_tokens"],
        &usage["total_tokens"],
        &billed["input_tokens"],
        &billed["total_tokens"],
        &meta["tokens"]["input_tokens"],
    ];
    let tokens = tokens.into_iter().find_map(whole);
    let searches = whole(&billed["search_units"]);
    if tokens.is_none() && searches.is_none() {
        return None;
    }
    let raw = if usage.is_object() { usage } else { meta };
    Some(UsageReport {
        usage: Usage {
            input_tokens: tokens.unwrap_or(0),
            searches: searches.unwrap_or(0),
            ..Usage::default()
        },
        cost: None,
        raw: Some(Json::of(raw)),
    })
}
