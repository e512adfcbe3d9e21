//! The provider that reads documents on this machine, with no network and no key (`ocr.md` 2).

use std::sync::Arc;

use async_trait::async_trait;
use domain::{
    OcrPages, OcrRequest, Rung,
    seams::{Documents, Provider, ProviderError, ProviderErrorKind as Kind, Target},
};

use crate::compatible::RUNGS;

/// The provider's name, and its dialect's.
pub(crate) const NAME: &str = "local";
/// Its one model.
pub(crate) const MODEL: &str = "ocr";

/// The provider.
pub(crate) struct Local(pub(crate) Arc<dyn Documents>);

#[async_trait]
impl Provider for Local {
    async fn recognize(
        &self,
        target: &Target,
        request: &OcrRequest,
    ) -> Result<OcrPages, ProviderError> {
        self.check(target)?;
        self.0.read(request).await
    }

    fn rungs(&self, _: &Target) -> &'static [Rung] {
        &RUNGS
    }

    fn check(&self, target: &Target) -> Result<(), ProviderError> {
        if target.model == MODEL {
            return Ok(());
        }
        let reason = format!(
            "`{NAME}/{}` does not exist; the engine for documents is `{NAME}/{MODEL}`",
            target.model
        );
        Err(ProviderError::new(Kind::Invalid, reason))
    }
}
