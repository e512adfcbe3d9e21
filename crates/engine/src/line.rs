//! Lines: what breakers and ladders are remembered by.

use domain::ProjectId;

/// One project's way to one model at one origin. What goes wrong on it says nothing of other projects' ways there.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Line {
    /// Who asks.
    pub(crate) project: ProjectId,
    /// Scheme, host and port; empty for a provider without a network.
    pub(crate) origin: String,
    /// What the host calls the model.
    pub(crate) model: String,
}
