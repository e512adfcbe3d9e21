//! The crates' own options as the sections of one file.

use std::path::PathBuf;

use domain::Invalid;
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_path_to_error::{Path, Segment};
use toml::{Table, Value};

use crate::config::{key::Key, layers::Layers, schema};

/// Every section.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Options {
    pub(crate) server: api::ServerOptions,
    pub(crate) limits: api::LimitsOptions,
    pub(crate) metrics: api::MetricsOptions,
    pub(crate) store: store::Options,
    pub(crate) models: engine::ModelsOptions,
    pub(crate) calls: engine::CallsOptions,
    pub(crate) prices: engine::PricesOptions,
    pub(crate) observer: engine::ObserverOptions,
    pub(crate) feedback: engine::FeedbackOptions,
    pub(crate) spans: engine::SpansOptions,
    pub(crate) ocr: documents::OcrOptions,
    pub(crate) upstream: providers::UpstreamOptions,
    pub(crate) egress: providers::EgressOptions,
    /// In the file's order.
    #[serde(default)]
    pub(crate) providers: IndexMap<String, providers::ProviderOptions>,
    /// By name, in the file's order.
    #[serde(default)]
    pub(crate) projects: IndexMap<String, engine::ProjectOptions>,
    pub(crate) secrets: SecretsOptions,
    pub(crate) log: LogOptions,
}

/// Where secrets are kept.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SecretsOptions {
    /// The file that holds the master key.
    pub(crate) master_key_file: Option<PathBuf>,
}

/// How log lines are written.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LogOptions {
    /// Text or JSON.
    pub(crate) format: LogFormat,
}

/// The form of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogFormat {
    /// Text on a terminal, JSON elsewhere.
    Auto,
    /// One JSON object a line.
    Json,
    /// For people.
    Text,
}

/// The options that the layers make. Values that do not fit are refused one by one, and the defaults read in their
/// place, so that every fault is told at once.
pub(crate) fn read(layers: &mut Layers) -> Option<Options> {
    loop {
        let document = Value::Table(document(layers));
        let fault = match serde_path_to_error::deserialize::<_, Options>(document) {
            Ok(options) => return Some(options),
            Err(fault) => fault,
        };
        let key = key_of(fault.path());
        let message = fault.inner().message();
        let reason = Invalid::read(message).map_or(message.to_owned(), |invalid| invalid.message);
        if !layers.refuse(&key, &format!("does not fit: {}", reason.trim_end())) {
            return None;
        }
    }
}

fn document(layers: &Layers) -> Table {
    let mut document = schema::sections();
    for (section, name) in &layers.named {
        table_at(&mut document, &[section, name]);
    }
    for (key, entry) in &layers.entries {
        if let [outer @ .., name] = &key.segments()[..] {
            table_at(&mut document, outer).insert((*name).to_owned(), entry.value.clone());
        }
    }
    document
}

/// The table at that place, made if it is not there.
fn table_at<'a>(document: &'a mut Table, path: &[&str]) -> &'a mut Table {
    path.iter().fold(document, |table, name| {
        let inner = table
            .entry(*name)
            .or_insert_with(|| Value::Table(Table::new()));
        inner
            .as_table_mut()
            .expect("sections and keys have different names")
    })
}

fn key_of(path: &Path) -> Key {
    let names = path.iter().filter_map(|segment| match segment {
        Segment::Map { key } => Some(key.clone()),
        _ => None,
    });
    Key::new(names)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn leaves(value: &serde_json::Value, at: &str, found: &mut BTreeSet<String>) {
        match value {
            serde_json::Value::Object(members) if !at.is_empty() || !members.is_empty() => {
                for (name, member) in members {
                    let dotted = if at.is_empty() {
                        name.clone()
                    } else {
                        format!("{at}.{name}")
                    };
                    leaves(member, &dotted, found);
                }
            }
            _ => {
                found.insert(at.to_owned());
            }
        }
    }

    #[test]
    fn the_reference_and_the_structs_have_the_same_keys() {
        let read: Options = Value::Table(schema::reference()).try_into().unwrap();

        let mut fields = BTreeSet::new();
        leaves(&serde_json::to_value(&read).unwrap(), "", &mut fields);

        let keys: BTreeSet<String> = schema::keys().map(Key::to_string).collect();
        assert_eq!(fields, keys);
    }

    #[test]
    fn every_key_has_one_comment() {
        let lines: Vec<&str> = schema::DEFAULTS.lines().collect();
        for key in schema::keys() {
            let (plain, example) = (format!("{} = ", key.last()), format!("# {} = ", key.last()));
            let is_key = |line: &str| line.starts_with(&plain) || line.starts_with(&example);
            for (at, _) in lines.iter().enumerate().filter(|(_, line)| is_key(line)) {
                let before = lines[at - 1];
                assert!(
                    before.starts_with("# ") && before.ends_with('.'),
                    "{key}: {before}"
                );
            }
        }
    }
}
