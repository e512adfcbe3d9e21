//! `gatewright config`: what a server would start with.

use std::sync::Arc;

use domain::seams::{Clock, SystemClock};

use crate::config::{Config, Problems, Sources};

/// Prints every key with its value and where that comes from.
pub(super) fn print(sources: &Sources) -> anyhow::Result<()> {
    let config = Config::load(sources)?;
    check_providers(&config)?;
    super::print(&config.lines())
}

/// Refuses what only the providers can tell to be wrong, as a start would.
fn check_providers(config: &Config) -> Result<(), Problems> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    match providers::registry(config.provider_options(), &clock) {
        Ok(_) => Ok(()),
        Err(fault) => Err(config.refusal(&fault)),
    }
}
