//! Which of OpenAI's two dialects a model is asked in.

use std::sync::Arc;

use async_trait::async_trait;
use domain::{
    ChatRequest, Deltas, EmbeddingRequest, Embeddings, Generation, ImageRequest, Images, Json,
    OcrPages, OcrRequest, RerankRequest, Reranking, Rung,
    seams::{Provider, ProviderError, Target, Wanted},
};
use url::Url;

use crate::azure;

/// Names of models that only the Responses API has begin so (<https://platform.openai.com/docs/models>) …
const FAMILIES: [&str; 3] = ["computer-use-preview", "gpt-5.6-cyber", "gpt-daybreak-"];
/// … or so, with one of these among their words.
const MAKERS: [&str; 5] = ["gpt-", "o1-", "o3-", "o4-", "codex-"];
const WORDS: [&str; 2] = ["pro", "codex"];
const DEEP: &str = "-deep-research";

/// From this version on, a model that thinks takes functions in the Responses API alone; in the other dialect it says
/// `Function tools with reasoning_effort are not supported` (<https://github.com/openai/openai-openapi/issues/541>).
const APART: (u8, u8) = (5, 4);
/// From this one on, a model thinks unless it is told not to.
const THINKING: (u8, u8) = (5, 5);
const EFFORT: &str = "reasoning_effort";

/// OpenAI's hosts, and the ends of Azure's.
const OPENAI: &str = "api.openai.com";
const AZURE: [&str; 3] = [
    ".openai.azure.com",
    ".cognitiveservices.azure.com",
    ".services.ai.azure.com",
];

/// Both dialects: that of chats, and the Responses API for the models, and the requests, that only it has.
pub(crate) struct Choice {
    chat: Arc<dyn Provider>,
    responses: Arc<dyn Provider>,
    /// Whether the host of a target has both.
    has_both: fn(&Target) -> bool,
}

impl Choice {
    /// For the protocol `openai`, which is most often another host's: only OpenAI's own and Azure's have both.
    pub(crate) fn by_address(chat: Arc<dyn Provider>, responses: Arc<dyn Provider>) -> Self {
        Self {
            chat,
            responses,
            has_both: is_openais_or_azures,
        }
    }

    /// For Azure's protocol: its hosts have both, but for an address that is one model's alone.
    pub(crate) fn by_model(chat: Arc<dyn Provider>, responses: Arc<dyn Provider>) -> Self {
        Self {
            chat,
            responses,
            has_both: |target| {
                let api_base = target.api_base.as_deref().unwrap_or_default();
                !azure::is_deployments(api_base)
            },
        }
    }

    /// Who is asked, as far as the model alone decides.
    fn of(&self, target: &Target) -> &dyn Provider {
        self.either(target, is_only_in_responses(&target.model))
    }

    /// Who is asked that request.
    fn of_request(&self, target: &Target, request: &ChatRequest) -> &dyn Provider {
        let is_only_there =
            is_only_in_responses(&target.model) || thinks_beside_functions(target, request);
        self.either(target, is_only_there)
    }

    fn either(&self, target: &Target, is_only_in_responses: bool) -> &dyn Provider {
        if is_only_in_responses && (self.has_both)(target) {
            self.responses.as_ref()
        } else {
            self.chat.as_ref()
        }
    }
}

#[async_trait]
impl Provider for Choice {
    async fn chat(
        &self,
        target: &Target,
        request: &ChatRequest,
    ) -> Result<Generation, ProviderError> {
        self.of_request(target, request).chat(target, request).await
    }

    async fn chat_stream(
        &self,
        target: &Target,
        request: &ChatRequest,
    ) -> Result<Deltas, ProviderError> {
        let asked = self.of_request(target, request);
        asked.chat_stream(target, request).await
    }

    fn rungs(&self, target: &Target) -> &'static [Rung] {
        self.of(target).rungs(target)
    }

    fn obstacle(&self, target: &Target, request: &ChatRequest, rung: Rung) -> Option<&'static str> {
        self.of_request(target, request)
            .obstacle(target, request, rung)
    }

    fn brings_functions(&self, target: &Target) -> Option<&'static str> {
        self.of(target).brings_functions(target)
    }

    fn runs_tools(&self, target: &Target, request: &ChatRequest) -> bool {
        self.of_request(target, request).runs_tools(target, request)
    }

    fn reads_as_given(&self, target: &Target, request: &ChatRequest) -> bool {
        self.of_request(target, request)
            .reads_as_given(target, request)
    }

    fn warnings(&self, target: &Target, wanted: Wanted<'_>) -> Vec<String> {
        let provider = match wanted {
            Wanted::Chat(request) => self.of_request(target, request),
            Wanted::Image | Wanted::Embedding | Wanted::Rerank(_) => self.chat.as_ref(),
        };
        provider.warnings(target, wanted)
    }

    fn check(&self, target: &Target) -> Result<(), ProviderError> {
        self.of(target).check(target)
    }

    async fn embed(
        &self,
        target: &Target,
        request: &EmbeddingRequest,
    ) -> Result<Embeddings, ProviderError> {
        self.chat.embed(target, request).await
    }

    fn embedding_batch(&self, target: &Target) -> usize {
        self.chat.embedding_batch(target)
    }

    fn embedding_tokens(&self, target: &Target) -> usize {
        self.chat.embedding_tokens(target)
    }

    async fn generate_images(
        &self,
        target: &Target,
        request: &ImageRequest,
    ) -> Result<Images, ProviderError> {
        self.chat.generate_images(target, request).await
    }

    async fn rerank(
        &self,
        target: &Target,
        request: &RerankRequest,
    ) -> Result<Reranking, ProviderError> {
        self.chat.rerank(target, request).await
    }

    fn rerank_batch(&self, target: &Target) -> usize {
        self.chat.rerank_batch(target)
    }

    async fn recognize(
        &self,
        target: &Target,
        request: &OcrRequest,
    ) -> Result<OcrPages, ProviderError> {
        self.chat.recognize(target, request).await
    }
}

fn is_only_in_responses(model: &str) -> bool {
    // A tuned model bears its owner's words, and is asked as any other.
    let is_own = !model.contains(':') && MAKERS.iter().any(|maker| model.starts_with(maker));
    let has_word = model.split('-').any(|word| WORDS.contains(&word)) || model.contains(DEEP);
    FAMILIES.iter().any(|family| model.starts_with(family)) || (is_own && has_word)
}

/// Whether the model is one that does not think beside functions in the dialect of chats, and is asked to.
fn thinks_beside_functions(target: &Target, request: &ChatRequest) -> bool {
    let Some(version) = version(&target.model).filter(|version| *version >= APART) else {
        return false;
    };
    let effort = target.options.get(EFFORT).and_then(Json::as_string);
    let thinks = match effort.as_deref() {
        Some(effort) => effort != "none",
        None => version >= THINKING,
    };
    thinks && has_functions(target, request)
}

/// The version in a name such as `gpt-5.4-mini`. Azure's `gpt-35-turbo` has none.
fn version(model: &str) -> Option<(u8, u8)> {
    let number = model.strip_prefix("gpt-")?.split('-').next()?;
    let (major, minor) = number.split_once('.').unwrap_or((number, "0"));
    let is_one_digit = major.len() == 1;
    is_one_digit.then_some((major.parse().ok()?, minor.parse().ok()?))
}

/// Whether there are functions to be called: the caller's, those of the options, or the one that a value is demanded by.
fn has_functions(target: &Target, request: &ChatRequest) -> bool {
    let tools = target.options.get("tools").map(Json::to_value);
    let tools = tools.as_ref().and_then(|tools| tools.as_array());
    let demand = request.demand.as_ref();
    request.tools.iter().any(|tool| tool.kind == "function")
        || tools.is_some_and(|tools| tools.iter().any(|tool| tool["type"] == "function"))
        || demand.is_some_and(|demand| demand.rung == Rung::ForcedTool)
}

fn is_openais_or_azures(target: &Target) -> bool {
    let url = target
        .api_base
        .as_deref()
        .and_then(|it| Url::parse(it).ok());
    let Some((url, host)) = url.as_ref().and_then(|url| Some((url, url.host_str()?))) else {
        return false;
    };
    let is_openais = host == OPENAI
        || host
            .strip_suffix(OPENAI)
            .is_some_and(|it| it.ends_with('.'));
    // Azure's other address is one model's alone.
    let is_azures = AZURE.iter().any(|end| host.ends_with(end))
        && url.path().trim_end_matches('/').ends_with("/openai/v1");
    is_openais || is_azures
}

#[cfg(test)]
mod tests {
    use domain::{Demand, JsonObject, Tool};

    use super::*;
    use crate::{
        adapter::HttpProvider,
        openai::OpenAi,
        responses::Responses,
        wire::tests::{client, target},
    };

    /// A request with a tool of that kind.
    fn with_tool(kind: &str) -> ChatRequest {
        let tool = Tool {
            kind: kind.to_owned(),
            name: "f".to_owned(),
            description: None,
            parameters: None,
            as_given: Json::null(),
        };
        ChatRequest {
            tools: vec![tool],
            ..ChatRequest::default()
        }
    }

    fn with_demand(rung: Rung) -> ChatRequest {
        let demand = Demand {
            name: "d".to_owned(),
            schema: Json::null(),
            rung,
            as_given: None,
        };
        ChatRequest {
            demand: Some(demand),
            ..ChatRequest::default()
        }
    }

    fn asked(model: &str, options: &str) -> Target {
        let options: JsonObject = serde_json::from_str(options).unwrap();
        Target {
            model: model.to_owned(),
            options,
            ..target("https://api.openai.com/v1")
        }
    }

    #[test]
    fn a_model_that_thinks_is_asked_with_functions_in_the_responses_api() {
        let none = r#"{"reasoning_effort":"none"}"#;
        let low = r#"{"reasoning_effort":"low"}"#;
        let cases = [
            ("gpt-5.6", "{}", true),
            ("gpt-5.6-terra", low, true),
            ("gpt-5.6-luna", r#"{"reasoning_effort":null}"#, true),
            ("gpt-5.6-sol", none, false),
            ("gpt-5.5", "{}", true),
            ("gpt-5.5-2026-04-23", none, false),
            ("gpt-6-astra", "{}", true),
            ("gpt-5.4", "{}", false),
            ("gpt-5.4-mini", low, true),
            ("gpt-5.4", none, false),
            ("gpt-5.1", low, false),
            ("gpt-5", low, false),
            ("gpt-4.1", "{}", false),
            ("gpt-4o", "{}", false),
            ("gpt-35-turbo", "{}", false),
            ("gpt-oss-120b", low, false),
            ("o4-mini", low, false),
        ];

        for (model, options, expected) in cases {
            let target = asked(model, options);
            let is_there = thinks_beside_functions(&target, &with_tool("function"));
            assert_eq!(is_there, expected, "{model} {options}");
        }
    }

    #[test]
    fn functions_are_the_callers_the_options_or_the_demands() {
        let has = |options, request: &ChatRequest| has_functions(&asked("m", options), request);
        let nothing = ChatRequest::default();
        let tools = r#"{"tools":[{"type":"function","function":{"name":"f"}}]}"#;

        assert!(has("{}", &with_tool("function")));
        assert!(has(tools, &nothing));
        assert!(has("{}", &with_demand(Rung::ForcedTool)));
        assert!(!has("{}", &nothing));
        assert!(!has(r#"{"tools":[{"type":"web_search"}]}"#, &nothing));
        assert!(!has("{}", &with_tool("custom")));
        assert!(!has("{}", &with_demand(Rung::NativeSchema)));
    }

    #[test]
    fn who_reads_turns_as_they_were_given_follows_from_the_request() {
        let client = Arc::new(client(&[]));
        let choice = Choice::by_address(
            Arc::new(HttpProvider::new(OpenAi, client.clone())),
            Arc::new(HttpProvider::new(Responses, client)),
        );
        let reads = |target: &Target, request| choice.reads_as_given(target, request);
        let (plain, tools) = (ChatRequest::default(), with_tool("function"));
        let elsewhere = Target {
            api_base: Some("http://localhost:8000/v1".to_owned()),
            ..asked("gpt-5.6", "{}")
        };

        assert!(reads(&asked("gpt-5.6", "{}"), &plain));
        assert!(!reads(&asked("gpt-5.6", "{}"), &tools));
        assert!(reads(&elsewhere, &tools));
        assert!(!reads(&asked("o3-pro", "{}"), &plain));
    }

    #[test]
    fn models_that_only_the_responses_api_has_are_known_by_their_names() {
        let only_there = [
            "o1-pro",
            "o1-pro-2025-03-19",
            "o3-pro",
            "gpt-5-pro-2025-10-06",
            "gpt-5.5-pro",
            "gpt-5-codex",
            "gpt-5.1-codex-mini",
            "codex-mini-latest",
            "computer-use-preview-2025-03-11",
            "o3-deep-research",
            "o4-mini-deep-research-2025-06-26",
            "gpt-daybreak-red-latest",
        ];
        let not_only = [
            "gpt-4.1-mini",
            "gpt-5",
            "gpt-5.4",
            "o3",
            "o4-mini",
            "chatgpt-4o-latest",
            "ft:gpt-4.1-mini:codex-pro:x:1",
            "gemini-2.5-pro",
            "sonar-deep-research",
            "gpt-rosalind-research",
            "text-embedding-3-large",
            "",
        ];

        for model in only_there {
            assert!(is_only_in_responses(model), "{model}");
        }
        for model in not_only {
            assert!(!is_only_in_responses(model), "{model}");
        }
    }

    #[test]
    fn only_openais_and_azures_addresses_have_both_dialects() {
        let both = [
            "https://api.openai.com/v1",
            "https://eu.api.openai.com/v1/",
            "https://mine.openai.azure.com/openai/v1",
            "https://mine.services.ai.azure.com/openai/v1/",
        ];
        let one = [
            "https://api.groq.com/openai/v1",
            "http://localhost:8000/v1",
            "https://myapi.openai.com.example.com/v1",
            "https://notapi.openai.com/v1",
            "https://mine.openai.azure.com/openai/deployments/o3-pro",
            "nonsense",
        ];

        for api_base in both {
            assert!(is_openais_or_azures(&target(api_base)), "{api_base}");
        }
        for api_base in one {
            assert!(!is_openais_or_azures(&target(api_base)), "{api_base}");
        }
    }
}
