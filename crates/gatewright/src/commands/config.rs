//! `gatewright config`: what a server would start with.

use crate::config::{Config, Problems, Sources};

/// Prints every key with its value and where that comes from.
pub(super) fn print(sources: &Sources) -> anyhow::Result<()> {
    let config = Config::load(sources)?;
    check_providers(&config)?;
    super::print(&config.lines())
}

/// Refuses what only the providers can tell to be wrong, as a start would.
fn check_providers(config: &Config) -> Result<(), Problems> {
    match providers::registry(config.provider_options()) {
        Ok(_) => Ok(()),
        Err(fault) => Err(config.refusal(&fault)),
    }
}
