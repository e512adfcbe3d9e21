//! Which keys there are and what type each has, read out of `config.default.toml`.

use std::sync::LazyLock;

use indexmap::IndexMap;
use toml::{Table, Value};

use crate::config::key::Key;

/// The defaults and the reference in one.
pub(crate) const DEFAULTS: &str = include_str!("../config.default.toml");
/// What stands for a provider's or a project's name in the reference.
const ANY_NAME: &str = "NAME";

/// The type of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Whole,
    Number,
    Flag,
    List,
    /// Tables, each with the same few members.
    Tables,
}

impl Kind {
    /// Whether the value has this type.
    pub(crate) fn admits(self, value: &Value) -> bool {
        match self {
            Self::Text => value.is_str(),
            Self::Whole => value.is_integer(),
            Self::Number => value.is_integer() || value.is_float(),
            Self::Flag => value.is_bool(),
            Self::List => value
                .as_array()
                .is_some_and(|items| items.iter().all(Value::is_str)),
            Self::Tables => value
                .as_array()
                .is_some_and(|items| items.iter().all(Value::is_table)),
        }
    }

    /// What is needed, in words.
    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Whole => "a whole number",
            Self::Number => "a number",
            Self::Flag => "true or false",
            Self::List => "a list of texts such as [\"a\", \"b\"]",
            Self::Tables => "a list of tables such as [{ env = \"NAME\", weight = 2 }]",
        }
    }

    fn of(example: &Value) -> Self {
        match example {
            Value::Integer(_) => Self::Whole,
            Value::Float(_) => Self::Number,
            Value::Boolean(_) => Self::Flag,
            Value::Array(items) if items.iter().any(Value::is_table) => Self::Tables,
            Value::Array(_) => Self::List,
            _ => Self::Text,
        }
    }
}

static KEYS: LazyLock<IndexMap<Key, Kind>> = LazyLock::new(|| {
    let mut keys = IndexMap::new();
    collect(&reference(), &Key::root(), &mut keys);
    keys
});

/// All keys in the order of the reference; those of providers and projects under the name `NAME`.
pub(crate) fn keys() -> impl Iterator<Item = &'static Key> {
    KEYS.keys()
}

/// The type of a key, if there is such a key.
pub(crate) fn kind(key: &Key) -> Option<Kind> {
    KEYS.get(&as_reference(key)).copied()
}

/// Whether the key is a section: there are keys below it.
pub(crate) fn is_section(key: &Key) -> bool {
    let asked = as_reference(key);
    let asked = asked.segments();
    keys().any(|known| {
        let known = known.segments();
        known.len() > asked.len() && known.starts_with(&asked)
    })
}

/// All sections with nothing in them.
pub(crate) fn sections() -> Table {
    let names = keys().filter_map(|key| key.segments().first().map(ToString::to_string));
    names
        .map(|name| (name, Value::Table(Table::new())))
        .collect()
}

/// The key that looks most like one that there is not.
pub(crate) fn nearest(unknown: &Key) -> Key {
    let alike = strsim::normalized_damerau_levenshtein;
    let first = |key: &Key| {
        key.segments()
            .first()
            .map(ToString::to_string)
            .unwrap_or_default()
    };
    let (asked, section) = (unknown.to_string(), first(unknown));
    // As a whole, by section and by name: so the right key in the wrong section is found, and the other way round.
    let score = |known: &Key| {
        alike(&asked, &known.to_string())
            + alike(&section, &first(known))
            + alike(unknown.last(), known.last())
    };
    let candidates = keys().map(|known| match (unknown.named(), known.named()) {
        (Some((section, name)), Some((same, _))) if section == same => {
            renamed(known, ANY_NAME, name)
        }
        _ => known.clone(),
    });
    candidates
        .max_by(|one, other| score(one).total_cmp(&score(other)))
        .expect("the reference has keys")
}

/// The reference with its examples, as a document.
pub(crate) fn reference() -> Table {
    let lines: Vec<&str> = DEFAULTS.lines().map(uncommented).collect();
    lines.join("\n").parse().expect("the reference is TOML")
}

/// A line that holds an example without its comment sign; any other line as it is.
fn uncommented(line: &str) -> &str {
    let Some(rest) = line.strip_prefix("# ") else {
        return line;
    };
    let is_key = |name: &str| {
        name.bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte == b'_')
    };
    let is_setting = rest.split_once(" = ").is_some_and(|(name, _)| is_key(name));
    if is_setting || rest.starts_with('[') {
        rest
    } else {
        line
    }
}

fn collect(table: &Table, at: &Key, keys: &mut IndexMap<Key, Kind>) {
    for (name, value) in table {
        let key = at.join(name);
        match value {
            Value::Table(inner) => collect(inner, &key, keys),
            example => {
                keys.insert(key, Kind::of(example));
            }
        }
    }
}

fn as_reference(key: &Key) -> Key {
    match key.named() {
        Some((_, name)) => renamed(key, name, ANY_NAME),
        None => key.clone(),
    }
}

/// The key with another name in its section.
fn renamed(key: &Key, from: &str, to: &str) -> Key {
    let mut segments = key.segments();
    if let Some(name) = segments.get_mut(1).filter(|name| **name == from) {
        *name = to;
    }
    Key::new(segments)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(dotted: &str) -> Key {
        Key::new(dotted.split('.'))
    }

    #[test]
    fn the_nearest_key_is_the_one_that_was_meant() {
        for (written, meant) in [
            ("server.lisen", "server.listen"),
            ("sever.listen", "server.listen"),
            ("listen", "server.listen"),
            ("data_dir", "store.data_dir"),
            ("server.data_dir", "store.data_dir"),
            ("limits.body_byte", "limits.body_bytes"),
            ("secrets.master_key", "secrets.master_key_file"),
            ("providers.local.api_bas", "providers.local.api_base"),
            ("providers.local.api_key", "providers.local.api_key_env"),
            ("model.default", "models.default"),
            ("log.level", "log.format"),
        ] {
            assert_eq!(nearest(&key(written)), key(meant), "{written}");
        }
    }

    #[test]
    fn a_key_has_the_type_of_its_default() {
        for (dotted, expected) in [
            ("server.listen", Some(Kind::Text)),
            ("server.drain_seconds", Some(Kind::Number)),
            ("limits.calls", Some(Kind::Whole)),
            ("egress.allow", Some(Kind::List)),
            ("providers.any.api_base", Some(Kind::Text)),
            ("metrics.listen", Some(Kind::Text)),
            ("server", None),
            ("providers.any", None),
            ("providers.any.api_base.deeper", None),
        ] {
            assert_eq!(kind(&key(dotted)), expected, "{dotted}");
        }
    }

    #[test]
    fn sections_are_known() {
        for (dotted, expected) in [
            ("server", true),
            ("providers", true),
            ("providers.any", true),
            ("server.listen", false),
            ("sever", false),
        ] {
            assert_eq!(is_section(&key(dotted)), expected, "{dotted}");
        }
    }
}
