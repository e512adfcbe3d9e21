//! OpenAI's dialects as Azure hosts them: other paths, another header for the key, tokens of Entra ID
//! (<https://learn.microsoft.com/azure/ai-foundry/openai/reference>).
//!
//! The words are those of the dialect inside; a model goes by the name of its deployment.

mod entra;
mod place;

use domain::{
    ChatRequest, EmbeddingRequest, Embeddings, Generation, ImageRequest, Images, Part, Rung,
    Secret,
    seams::{ProviderError, ProviderErrorKind as Kind, Taken, Target, Wanted},
};

pub(crate) use self::place::is_deployments;
use self::{
    entra::Application,
    place::{deployed, placed},
};
use crate::{
    adapter::{Adapter, Manner},
    wire::{Fault, Framing, Grant, WireRequest},
};

/// The name that `protocol` has the dialect under.
pub(crate) const NAME: &str = "azure";

/// A dialect of OpenAI's at Azure's places.
pub(crate) struct Azure<A>(pub(crate) A);

impl<A: Adapter> Adapter for Azure<A> {
    type Reading = A::Reading;
    type Decoder = A::Decoder;

    fn chat(
        &self,
        target: &Target,
        request: &ChatRequest,
        manner: Manner,
    ) -> Result<(WireRequest, Self::Reading), ProviderError> {
        let (wire, reading) = self.0.chat(&deployed(target), request, manner)?;
        Ok((placed(target, wire)?, reading))
    }

    fn generation(&self, reading: &Self::Reading, body: &[u8]) -> Result<Generation, Fault> {
        self.0.generation(reading, body)
    }

    fn decoder(&self, reading: Self::Reading) -> Self::Decoder {
        self.0.decoder(reading)
    }

    fn framing(&self) -> Framing {
        self.0.framing()
    }

    fn rungs(&self, target: &Target) -> &'static [Rung] {
        self.0.rungs(target)
    }

    fn reads_as_given(&self, target: &Target) -> bool {
        self.0.reads_as_given(target)
    }

    fn taken(&self, body: &[u8]) -> Taken {
        self.0.taken(body)
    }

    fn warnings(&self, target: &Target, wanted: Wanted<'_>) -> Vec<String> {
        self.0.warnings(target, wanted)
    }

    fn check(&self, target: &Target) -> Result<(), ProviderError> {
        let api_base = target.api_base.as_deref().unwrap_or_default();
        if api_base.is_empty() || api_base.contains('{') {
            return Err(misconfigured(
                "its address is not known: set `api_base` to the resource's (`https://NAME.openai.azure.com`), or the setting `resource` to its name",
            ));
        }
        if is_deployments(api_base) && place::version(target).is_none() {
            return Err(misconfigured(
                "its address is that of a deployment, which needs the setting `api_version`",
            ));
        }
        if target
            .key
            .as_ref()
            .is_none_or(|key| key.expose().is_empty())
        {
            return Err(misconfigured(
                "it has no key: set `AZURE_OPENAI_API_KEY`, or the model's own key",
            ));
        }
        self.grant(target)?;
        self.0.check(target)
    }

    fn needs_bytes(&self, target: &Target, part: &Part) -> bool {
        self.0.needs_bytes(target, part)
    }

    fn grant(&self, target: &Target) -> Result<Option<Grant>, ProviderError> {
        let key = target.key.as_ref().map_or("", Secret::expose).trim();
        if !key.starts_with('{') {
            return Ok(None);
        }
        Application::read(key)?.grant(target).map(Some)
    }

    fn embed(
        &self,
        target: &Target,
        request: &EmbeddingRequest,
    ) -> Result<WireRequest, ProviderError> {
        placed(target, self.0.embed(&deployed(target), request)?)
    }

    fn embedding_batch(&self, target: &Target) -> usize {
        self.0.embedding_batch(target)
    }

    fn embedding_tokens(&self, target: &Target) -> usize {
        self.0.embedding_tokens(target)
    }

    fn embeddings(
        &self,
        target: &Target,
        request: &EmbeddingRequest,
        body: &[u8],
    ) -> Result<Embeddings, Fault> {
        self.0.embeddings(target, request, body)
    }

    fn image_request(
        &self,
        target: &Target,
        request: &ImageRequest,
    ) -> Result<WireRequest, ProviderError> {
        placed(target, self.0.image_request(&deployed(target), request)?)
    }

    fn draws_from(&self, target: &Target, part: &Part) -> bool {
        self.0.draws_from(target, part)
    }

    fn images(
        &self,
        target: &Target,
        request: &ImageRequest,
        body: &[u8],
    ) -> Result<Images, Fault> {
        self.0.images(target, request, body)
    }

    fn fault(&self, status: u16, body: &[u8]) -> Fault {
        self.0.fault(status, body)
    }
}

fn misconfigured(what: &str) -> ProviderError {
    let reason = format!("the provider `azure` cannot be asked: {what}");
    ProviderError::new(Kind::Misconfigured, reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{openai::OpenAi, wire::tests::target};

    #[test]
    fn what_is_missing_is_named() {
        let bad = |key: &str| {
            let key = Some(Secret::new(key));
            Target {
                key,
                ..target("https://r.openai.azure.com")
            }
        };
        let tenant = |tenant: &str| {
            bad(&format!(
                r#"{{"tenant_id":"{tenant}","client_id":"c","client_secret":"s"}}"#
            ))
        };
        let cases = [
            (target("https://{resource}.openai.azure.com"), "`resource`"),
            (
                target("https://r.openai.azure.com/openai/deployments/d"),
                "`api_version`",
            ),
            (
                target("https://r.openai.azure.com"),
                "`AZURE_OPENAI_API_KEY`",
            ),
            (bad("{}"), "`client_secret`"),
            (tenant("../evil"), "`tenant_id`"),
            (tenant(".."), "`tenant_id`"),
            (tenant(""), "`tenant_id`"),
            (tenant("a/b"), "`tenant_id`"),
        ];

        for (target, name) in cases {
            let refused = Azure(OpenAi).check(&target).unwrap_err();
            assert_eq!(refused.kind, Kind::Misconfigured);
            assert!(refused.reason.contains(name), "{}", refused.reason);
        }
        assert!(
            Azure(OpenAi)
                .check(&tenant("contoso.onmicrosoft.com"))
                .is_ok()
        );
    }
}
