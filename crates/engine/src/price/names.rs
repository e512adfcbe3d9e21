//! By which names a model of the price book is found, and when its price does not hold.
//!
//! The rules are data, in the head of the book, a few per provider; this file knows what each kind of rule does. A wrong
//! price is worse than none: a name that no rule fits has no price.

use std::fmt;

use domain::JsonObject;

use super::book::{Row, Rule, book};

/// What a model is looked for by.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Name<'a> {
    /// The provider.
    pub(crate) provider: &'a str,
    /// What it calls the model.
    pub(crate) model: &'a str,
    /// Where it is asked, of providers that have regions.
    pub(crate) region: Option<&'a str>,
}

/// A model in the price book, and how its name led there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// A row, with the reason why its price may not be the model's.
    Row(Row, Way, Option<Doubt>),
    /// A name that means that nothing is charged.
    Free(Way),
}

/// How a name led to a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// It is the row's own.
    Own,
    /// By the rule of this kind and text.
    Rule(&'static str, &'static str),
}

/// Why the price of a row may not be that of the model which was looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubt {
    /// The book knows the model, and not this version of it.
    Version,
    /// The book knows the model's price elsewhere, and not in this region.
    Region,
}

/// A row with its doubt.
type Hit = (Row, Option<Doubt>);

/// The model of that name.
pub(crate) fn find(name: Name<'_>) -> Option<Found> {
    let rules: Vec<Rule> = book().rules(name.provider).collect();
    let way = |rule: &Rule| Way::Rule(rule.kind, rule.text);
    for rule in &rules {
        match rule.kind {
            "arn" if name.model.starts_with("arn:") => {
                let (row, doubt) = in_arn(name, rule.text, &rules)?;
                return Some(Found::Row(row, way(rule), doubt));
            }
            "free" if name.model.ends_with(rule.text) => return Some(Found::Free(way(rule))),
            _ => {}
        }
    }
    if let Some((row, doubt)) = at(name, &rules) {
        return Some(Found::Row(row, Way::Own, doubt));
    }
    for rule in &rules {
        if rule.kind == "tuned" && name.model.starts_with(rule.text) {
            // A tuned model has a price of its own or none: never that of the model that was tuned.
            let (row, doubt) = tuned(name, rule.text, &rules)?;
            return Some(Found::Row(row, way(rule), doubt));
        }
        if let Some((row, doubt)) = by(name, rule, &rules) {
            return Some(Found::Row(row, way(rule), doubt));
        }
    }
    None
}

/// Whether the options ask for something that the price is not for.
pub(crate) fn is_other_offer(provider: &str, options: &JsonObject) -> bool {
    asks(provider, options, &["absent", "usual"])
}

/// Whether the options ask for something that is billed beside what the price is for.
pub(crate) fn has_fees(provider: &str, options: &JsonObject) -> bool {
    asks(provider, options, &["beside"])
}

/// Whether an option that a rule of one of these kinds names has another value than the usual ones that the rule knows.
fn asks(provider: &str, options: &JsonObject, kinds: &[&str]) -> bool {
    let mut rules = book().rules(provider);
    rules.any(|rule| {
        let mut words = rule.text.split(' ');
        let given = words.next().and_then(|name| options.get(name));
        let Some(given) = given.filter(|given| !given.is_null()) else {
            return false;
        };
        let text = given.as_string();
        let text = text.as_deref().unwrap_or(given.text());
        kinds.contains(&rule.kind) && words.all(|usual| text != usual)
    })
}

fn by(name: Name<'_>, rule: &Rule, rules: &[Rule]) -> Option<Hit> {
    let called = |model| Name { model, ..name };
    match rule.kind {
        "dated" => match without_date(name.model) {
            Some(model) => at(called(model), rules).map(of_version),
            None => versions(name),
        },
        "latest" => {
            let model = called(name.model.strip_suffix(rule.text)?);
            at(model, rules).or_else(|| versions(model))
        }
        "cut" => {
            let (model, _) = name.model.split_once(rule.text)?;
            at(called(model), rules).map(of_version)
        }
        "prefix" => {
            let model = called(name.model.strip_prefix(rule.text)?);
            let cut = || {
                let rule = rules.iter().find(|rule| rule.kind == "cut")?;
                by(model, rule, rules)
            };
            at(model, rules).or_else(cut)
        }
        "profile" => {
            let (prefix, regions) = rule.text.split_once(' ')?;
            let model = name.model.strip_prefix(prefix)?;
            let is_there = name
                .region
                .is_some_and(|region| region.starts_with(regions));
            let mut siblings = siblings(rules);
            let has_sibling = |sibling| {
                let row = format!("{}/{sibling}{model}", name.provider);
                book().row(&row, None).is_some()
            };
            if !is_there || siblings.any(has_sibling) {
                return None;
            }
            at(called(model), rules)
        }
        _ => None,
    }
}

/// What the names of profiles begin with.
fn siblings(rules: &[Rule]) -> impl Iterator<Item = &'static str> {
    let siblings = rules.iter().filter(|rule| rule.kind == "siblings");
    siblings.flat_map(|rule| rule.text.split(' '))
}

/// The row of a model where a version of it was looked for: that may cost something else.
fn of_version((row, _): Hit) -> Hit {
    (row, Some(Doubt::Version))
}

/// The row of exactly that name, where it holds.
fn at(name: Name<'_>, rules: &[Rule]) -> Option<Hit> {
    let key = format!("{}/{}", name.provider, name.model);
    let plain = || book().row(&key, None);
    let Some(region) = name.region else {
        return Some((plain()?, None));
    };
    if let Some(row) = book().row(&key, Some(region)) {
        return Some((row, None));
    }
    let places = rules.iter().find(|rule| rule.kind == "places");
    let is_foreign = places.is_some_and(|rule| !rule.text.split(' ').any(|place| place == region));
    let apart = rules.iter().find(|rule| rule.kind == "apart");
    let is_apart = |region: &str| apart.is_some_and(|rule| region.starts_with(rule.text));
    if is_foreign && book().regions(&key).any(|region| !is_apart(region)) {
        return None;
    }
    // The price of a profile is that of all its regions.
    let is_profile = siblings(rules).any(|prefix| name.model.starts_with(prefix));
    let doubt = (is_foreign && !is_profile).then_some(Doubt::Region);
    Some((plain()?, doubt))
}

/// The dated versions of a model, if they all cost the same.
fn versions(name: Name<'_>) -> Option<Hit> {
    let start = format!("{}/{}-", name.provider, name.model);
    let mut found: Option<Row> = None;
    for row in book().beginning(&start) {
        let is_version = without_date(row.name).is_some_and(|base| base.len() + 1 == start.len());
        if !is_version || row.region.is_some() {
            continue;
        }
        if found.is_some_and(|other| other.price() != row.price()) {
            return None;
        }
        found = Some(row);
    }
    Some((found?, None))
}

/// `ft:MODEL:ORGANISATION::ID` costs what the row `ft:MODEL` says.
fn tuned(name: Name<'_>, prefix: &str, rules: &[Rule]) -> Option<Hit> {
    let tuned = name.model.strip_prefix(prefix)?;
    let model = tuned.split(':').next().unwrap_or(tuned);
    let model = &name.model[..prefix.len() + model.len()];
    let name = Name { model, ..name };
    at(name, rules).or_else(|| versions(name))
}

/// `arn:PARTITION:SERVICE:REGION:ACCOUNT:KIND/MODEL`.
fn in_arn(name: Name<'_>, kinds: &str, rules: &[Rule]) -> Option<Hit> {
    let mut parts = name.model.splitn(6, ':').skip(3);
    let (region, _account, resource) = (parts.next()?, parts.next()?, parts.next()?);
    let (kind, model) = resource.split_once('/')?;
    if !kinds.split(' ').any(|known| known == kind) {
        return None;
    }
    let region = Some(region).filter(|region| !region.is_empty());
    let name = Name {
        model,
        region: region.or(name.region),
        ..name
    };
    at(name, rules).or_else(|| rules.iter().find_map(|rule| by(name, rule, rules)))
}

/// The name without the date at its end: `-2024-08-06` or `-20240806`.
fn without_date(name: &str) -> Option<&str> {
    let is_date = |date: &str, at: [usize; 2]| {
        let mut bytes = date.bytes().enumerate();
        date.starts_with("20")
            && bytes.all(|(index, byte)| {
                if at.contains(&index) {
                    byte == b'-'
                } else {
                    byte.is_ascii_digit()
                }
            })
    };
    let dated = [(10, [4, 7]), (8, [8, 8])]
        .into_iter()
        .find_map(|(length, dashes)| {
            let start = name.len().checked_sub(length)?;
            let base = name.get(..start)?.strip_suffix('-')?;
            is_date(&name[start..], dashes).then_some(base)
        });
    dated.filter(|base| !base.is_empty())
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Own => f.write_str("its own name"),
            Self::Rule(kind, "") => write!(f, "the rule `{kind}`"),
            Self::Rule(kind, text) => write!(f, "the rule `{kind} {text}`"),
        }
    }
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Version => "the book does not know this version",
            Self::Region => "the book does not know the price in this region",
        })
    }
}

#[cfg(test)]
mod tests {
    use domain::Json;

    use super::*;

    fn row(provider: &str, model: &str, region: Option<&str>) -> Option<String> {
        let found = find(Name {
            provider,
            model,
            region,
        });
        found.map(|found| match found {
            Found::Row(row, ..) => {
                let region = row.region.map(|region| format!("#{region}"));
                format!("{}{}", row.name, region.unwrap_or_default())
            }
            Found::Free(_) => "free".to_owned(),
        })
    }

    #[test]
    #[expect(clippy::too_many_lines, reason = "a row per rule")]
    fn each_rule_leads_to_its_row() {
        for (provider, model, region, expected) in [
            ("openai", "gpt-4o", None, Some("openai/gpt-4o")),
            // A version with a price of its own.
            (
                "openai",
                "gpt-4o-2024-05-13",
                None,
                Some("openai/gpt-4o-2024-05-13"),
            ),
            ("openai", "gpt-4o-2099-01-31", None, Some("openai/gpt-4o")),
            ("openai", "gpt-4o-20990131", None, Some("openai/gpt-4o")),
            ("openai", "gpt-4o-2099-01", None, None),
            (
                "openai",
                "gpt-4o-mini-audio-preview",
                None,
                Some("openai/gpt-4o-mini-audio-preview-2024-12-17"),
            ),
            ("openai", "gpt-4o-x", None, None),
            ("openai", "GPT-4o", None, None),
            ("openai", "gpt-99", None, None),
            ("openai", "", None, None),
            (
                "openai",
                "ft:gpt-4o-mini-2024-07-18:acme::A1",
                None,
                Some("openai/ft:gpt-4o-mini-2024-07-18"),
            ),
            (
                "openai",
                "ft:gpt-4o-mini-2024-07-18",
                None,
                Some("openai/ft:gpt-4o-mini-2024-07-18"),
            ),
            (
                "openai",
                "ft:gpt-4.1-mini:acme::A1",
                None,
                Some("openai/ft:gpt-4.1-mini-2025-04-14"),
            ),
            ("openai", "ft:o1:acme::A1", None, None),
            ("openai", "ft:", None, None),
            (
                "anthropic",
                "claude-opus-4-6-20990101",
                None,
                Some("anthropic/claude-opus-4-6"),
            ),
            (
                "anthropic",
                "claude-opus-4-6-latest",
                None,
                Some("anthropic/claude-opus-4-6"),
            ),
            ("anthropic", "claude-opus-9-latest", None, None),
            ("azure", "gpt-4o", None, Some("azure/gpt-4o")),
            ("azure", "gpt-4o", Some("eu"), Some("azure/gpt-4o#eu")),
            (
                "azure",
                "gpt-4o",
                Some("swedencentral"),
                Some("azure/gpt-4o"),
            ),
            ("azure", "my-deployment", None, None),
            (
                "gemini",
                "models/gemini-2.5-pro",
                None,
                Some("gemini/gemini-2.5-pro"),
            ),
            ("gemini", "gemini-2.5-pro-99", None, None),
            (
                "vertex",
                "claude-sonnet-4-5@20250929",
                None,
                Some("vertex/claude-sonnet-4-5@20250929"),
            ),
            (
                "vertex",
                "claude-sonnet-4-5@20990101",
                None,
                Some("vertex/claude-sonnet-4-5"),
            ),
            (
                "vertex",
                "publishers/anthropic/models/claude-sonnet-4-5@20990101",
                None,
                Some("vertex/claude-sonnet-4-5"),
            ),
            (
                "vertex",
                "google/gemini-2.5-flash",
                None,
                Some("vertex/gemini-2.5-flash"),
            ),
            (
                "openrouter",
                "deepseek/deepseek-chat:free",
                None,
                Some("free"),
            ),
            ("openrouter", "openai/gpt-4o", None, None),
            ("openrouter", "openai/gpt-4o:nitro", None, None),
            // Only where the provider has the rule.
            ("groq", "openai/gpt-oss-20b:free", None, None),
            (
                "groq",
                "openai/gpt-oss-20b",
                None,
                Some("groq/openai/gpt-oss-20b"),
            ),
            ("mistral", "mistral-large-2599", None, None),
            ("nobody", "gpt-4o", None, None),
        ] {
            assert_eq!(
                row(provider, model, region).as_deref(),
                expected,
                "{provider}/{model} {region:?}"
            );
        }
    }

    #[test]
    fn regions_and_profiles_have_their_own_prices_or_none() {
        let claude = "anthropic.claude-sonnet-4-5-20250929-v1:0";
        let own = format!("bedrock/us.{claude}");
        let arn = format!("arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.{claude}");
        for (model, region, expected) in [
            (
                format!("us.{claude}"),
                Some("us-east-1"),
                Some(own.as_str()),
            ),
            (arn, Some("eu-west-1"), Some(own.as_str())),
            // Other profiles of it are listed, and this one is not.
            (format!("apac.{claude}"), Some("ap-south-1"), None),
            (
                "arn:aws:bedrock:us-east-1::foundation-model/amazon.nova-lite-v1:0".to_owned(),
                None,
                Some("bedrock/amazon.nova-lite-v1:0"),
            ),
            (
                "arn:aws:bedrock:us-east-1:1:application-inference-profile/amazon.nova-lite-v1:0"
                    .to_owned(),
                None,
                None,
            ),
            (
                "arn:aws:bedrock:us-east-1:1:provisioned-model/abc".to_owned(),
                None,
                None,
            ),
            ("arn:aws".to_owned(), None, None),
            (
                "deepseek.v3.2".to_owned(),
                Some("us-east-1"),
                Some("bedrock/deepseek.v3.2#us-east-1"),
            ),
            (
                "deepseek.v3.2".to_owned(),
                Some("eu-north-1"),
                Some("bedrock/deepseek.v3.2#eu-north-1"),
            ),
            (
                "deepseek.v3.2".to_owned(),
                Some("us-east-2"),
                Some("bedrock/deepseek.v3.2#us-east-2"),
            ),
            ("deepseek.v3.2".to_owned(), Some("me-south-1"), None),
            (
                "amazon.nova-lite-v1:0".to_owned(),
                Some("me-south-1"),
                Some("bedrock/amazon.nova-lite-v1:0"),
            ),
            (
                "amazon.nova-lite-v1:0".to_owned(),
                Some("us-gov-west-1"),
                Some("bedrock/amazon.nova-lite-v1:0#us-gov-west-1"),
            ),
            (
                "us.mistral.mistral-7b-instruct-v0:2".to_owned(),
                Some("us-west-1"),
                None,
            ),
            (
                "us.amazon.titan-text-lite-v1".to_owned(),
                Some("us-east-1"),
                Some("bedrock/amazon.titan-text-lite-v1"),
            ),
            ("us.amazon.titan-text-lite-v1".to_owned(), None, None),
            (
                "eu.amazon.titan-text-lite-v1".to_owned(),
                Some("us-east-1"),
                None,
            ),
        ] {
            assert_eq!(
                row("bedrock", &model, region).as_deref(),
                expected,
                "{model} {region:?}"
            );
        }
    }

    #[test]
    fn a_row_that_only_stands_in_is_doubted() {
        let doubt = |provider, model, region| match find(Name {
            provider,
            model,
            region,
        }) {
            Some(Found::Row(_, _, doubt)) => doubt,
            other => panic!("{model}: {other:?}"),
        };
        let (version, region) = (Some(Doubt::Version), Some(Doubt::Region));
        let claude = "anthropic.claude-sonnet-4-5-20250929-v1:0";
        let arn = "arn:aws:bedrock:ap-south-1::foundation-model/amazon.nova-lite-v1:0";

        for (provider, model, at, expected) in [
            ("openai", "gpt-4o", None, None),
            ("openai", "gpt-4o-2024-05-13", None, None),
            ("openai", "gpt-4o-2099-01-31", None, version),
            // Whatever version it stands for, all of them cost that.
            ("openai", "gpt-4o-mini-audio-preview", None, None),
            ("anthropic", "claude-opus-4-6-20990101", None, version),
            ("anthropic", "claude-opus-4-6-latest", None, None),
            ("vertex", "claude-sonnet-4-5@20250929", None, None),
            ("vertex", "claude-sonnet-4-5@20990101", None, version),
            (
                "vertex",
                "publishers/anthropic/models/claude-sonnet-4-5@20990101",
                None,
                version,
            ),
            ("bedrock", "amazon.nova-lite-v1:0", None, None),
            ("bedrock", "amazon.nova-lite-v1:0", Some("us-west-2"), None),
            (
                "bedrock",
                "amazon.nova-lite-v1:0",
                Some("us-gov-west-1"),
                None,
            ),
            (
                "bedrock",
                "amazon.nova-lite-v1:0",
                Some("eu-north-1"),
                region,
            ),
            ("bedrock", arn, Some("us-east-1"), region),
            ("bedrock", "deepseek.v3.2", Some("eu-north-1"), None),
            ("bedrock", &format!("eu.{claude}"), Some("eu-west-1"), None),
            (
                "bedrock",
                "eu.amazon.titan-text-lite-v1",
                Some("eu-west-1"),
                region,
            ),
            ("azure", "gpt-4o", Some("swedencentral"), None),
        ] {
            assert_eq!(
                doubt(provider, model, at),
                expected,
                "{provider}/{model} {at:?}"
            );
        }
    }

    #[test]
    fn other_tiers_have_no_price() {
        let options = |name: &str, value: &str| {
            JsonObject::from([(name.to_owned(), Json::parse(value).unwrap())])
        };

        for (provider, name, value, expected) in [
            ("openai", "service_tier", "\"flex\"", true),
            ("openai", "service_tier", "\"default\"", false),
            ("openai", "service_tier", "null", false),
            ("openai", "web_search_options", "{}", false),
            ("openai", "temperature", "0", false),
            ("anthropic", "inference_geo", "\"us\"", true),
            ("groq", "service_tier", "\"flex\"", false),
        ] {
            let given = options(name, value);
            assert_eq!(
                is_other_offer(provider, &given),
                expected,
                "{provider} {name}"
            );
        }
    }

    #[test]
    fn some_options_have_fees() {
        for (provider, options, expected) in [
            ("openai", r#"{"web_search_options":{}}"#, true),
            ("openai", r#"{"web_search_options":null}"#, false),
            ("openai", r#"{"service_tier":"flex"}"#, false),
            ("dashscope", r#"{"enable_search":true}"#, true),
            ("dashscope", r#"{"enable_search":false}"#, false),
            ("groq", r#"{"web_search_options":{}}"#, false),
        ] {
            let given: JsonObject = serde_json::from_str(options).unwrap();
            assert_eq!(has_fees(provider, &given), expected, "{provider} {options}");
        }
    }

    #[test]
    fn every_kind_of_rule_in_the_book_is_known() {
        let known = [
            "absent", "apart", "arn", "beside", "cut", "dated", "free", "latest", "places",
            "prefix", "profile", "siblings", "tuned", "usual",
        ];
        for provider in [
            "openai",
            "azure",
            "anthropic",
            "bedrock",
            "gemini",
            "vertex",
            "openrouter",
            "perplexity",
        ] {
            let rules: Vec<Rule> = book().rules(provider).collect();
            assert!(!rules.is_empty(), "{provider}");
            for rule in rules {
                assert!(known.contains(&rule.kind), "{rule:?}");
            }
        }
    }
}
