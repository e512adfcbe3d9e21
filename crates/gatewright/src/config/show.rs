//! The effective configuration in lines: each key with its value and where that comes from. Secrets stay hidden.

use std::fmt::Display;

use crate::config::{Config, MasterKeySource, key::Entry, schema};

const SECRET: &str = "[secret]";

impl Config {
    /// The lines that `gatewright config` prints.
    pub(crate) fn lines(&self) -> Vec<String> {
        let entries = &self.layers.entries;
        let mut lines = Vec::new();
        for key in schema::keys().filter(|key| key.named().is_none()) {
            if let Some(Entry { value, origin }) = entries.get(key) {
                lines.push(line(key, value, origin));
            }
        }
        for (section, name) in &self.layers.named {
            let mine = entries
                .iter()
                .filter(|(key, _)| key.named() == Some((section, name)));
            lines.extend(mine.map(|(key, Entry { value, origin })| line(key, value, origin)));
        }
        for (name, keys) in &self.keys {
            for found in keys {
                let key = format!("providers.{name}.key");
                lines.push(line(key, SECRET, &found.found_in));
            }
        }
        lines.push(self.master_key_line());
        for (project, _) in &self.bootstrap_tokens {
            let key = format!("tokens.{project}");
            lines.push(line(key, SECRET, "environment GATEWRIGHT_BOOTSTRAP_TOKENS"));
        }
        lines.push(self.log_filter_line());
        lines
    }

    fn master_key_line(&self) -> String {
        let found_in = match &self.master_key {
            MasterKeySource::Given(_) => "environment GATEWRIGHT_MASTER_KEY".to_owned(),
            MasterKeySource::File(path) => format!("file {}", path.display()),
            MasterKeySource::BesideStore(path) => {
                format!("file {}, made at the first start", path.display())
            }
        };
        line("secrets.master_key", SECRET, found_in)
    }

    fn log_filter_line(&self) -> String {
        let origin = if self.log_filter_is_given {
            "environment GATEWRIGHT_LOG"
        } else {
            "default"
        };
        line("log.filter", format!("{:?}", self.log_filter), origin)
    }
}

fn line(key: impl Display, value: impl Display, origin: impl Display) -> String {
    format!("{key} = {value}    # {origin}")
}
