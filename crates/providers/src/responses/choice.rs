//! Which of OpenAI's two dialects a model is asked in.

use std::sync::Arc;

use async_trait::async_trait;
use domain::{
    ChatRequest, Deltas, EmbeddingRequest, Embeddings, Generation, ImageRequest, Images,
    RerankRequest, Reranking, Rung,
    seams::{Provider, ProviderError, Target},
};
use url::Url;

/// Names of models that only the Responses API has begin so (<https://platform.openai.com/docs/models>) …
const FAMILIES: [&str; 3] = ["computer-use-preview", "gpt-5.6-cyber", "gpt-daybreak-"];
/// … or so, with one of these among their words.
const MAKERS: [&str; 5] = ["gpt-", "o1-", "o3-", "o4-", "codex-"];
const WORDS: [&str; 2] = ["pro", "codex"];
const DEEP: &str = "-deep-research";

/// OpenAI's hosts, and the ends of Azure's.
const OPENAI: &str = "api.openai.com";
const AZURE: [&str; 3] = [
    ".openai.azure.com",
    ".cognitiveservices.azure.com",
    ".services.ai.azure.com",
];

/// Both dialects: that of chats, and the Responses API for the models that only it has.
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

    /// For hosts that have both.
    pub(crate) fn by_model(chat: Arc<dyn Provider>, responses: Arc<dyn Provider>) -> Self {
        Self {
            chat,
            responses,
            has_both: |_| true,
        }
    }

    fn of(&self, target: &Target) -> &dyn Provider {
        if is_only_in_responses(&target.model) && (self.has_both)(target) {
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
        self.of(target).chat(target, request).await
    }

    async fn chat_stream(
        &self,
        target: &Target,
        request: &ChatRequest,
    ) -> Result<Deltas, ProviderError> {
        self.of(target).chat_stream(target, request).await
    }

    fn rungs(&self, target: &Target) -> &'static [Rung] {
        self.of(target).rungs(target)
    }

    fn reads_as_given(&self, target: &Target) -> bool {
        self.of(target).reads_as_given(target)
    }

    fn warnings(&self, target: &Target, request: &ChatRequest) -> Vec<String> {
        self.of(target).warnings(target, request)
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
}

fn is_only_in_responses(model: &str) -> bool {
    // A tuned model bears its owner's words, and is asked as any other.
    let is_own = !model.contains(':') && MAKERS.iter().any(|maker| model.starts_with(maker));
    let has_word = model.split('-').any(|word| WORDS.contains(&word)) || model.contains(DEEP);
    FAMILIES.iter().any(|family| model.starts_with(family)) || (is_own && has_word)
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
    use super::*;
    use crate::wire::tests::target;

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
