//! `gatewright config`: what a server would start with.

use crate::{
    compose,
    config::{Config, Sources},
};

/// Prints every key with its value and where that comes from.
pub(super) fn print(sources: &Sources) -> anyhow::Result<()> {
    let config = Config::load(sources)?;
    // Refuses what only the providers can tell to be wrong, as a start would.
    compose::connect(&config)?;
    super::print(&config.lines())
}
