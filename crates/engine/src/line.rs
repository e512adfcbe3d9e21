//! Lines: what breakers, rests and ladders are remembered by.

use domain::ProjectId;

/// One project's way to one model at one origin, by one account. What goes wrong on it says nothing of other projects'
/// ways there, and the limits of one account nothing of another's.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Line {
    /// Who asks.
    pub(crate) project: ProjectId,
    /// Scheme, host and port; empty for a provider without a network.
    pub(crate) origin: String,
    /// Whose keys are used: the provider's, or those of a registered model.
    pub(crate) account: String,
    /// What the host calls the model.
    pub(crate) model: String,
}
