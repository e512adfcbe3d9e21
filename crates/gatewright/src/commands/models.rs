//! `gatewright models`: what models cost, and whose word that is.

use std::{collections::BTreeSet, sync::Arc};

use anyhow::bail;
use clap::Args;
use domain::{
    Price, TokenPrice,
    seams::{Host, Registry},
};
use engine::{Doubt, Found, OwnPrices, PriceBook, Row};

use crate::{
    commands::{
        amount::{PER_MILLION, PER_UNIT, decimal},
        hint, print, table,
    },
    config::{Config, Sources},
};

/// How many names are suggested for one that is not known.
const SUGGESTIONS: usize = 3;
/// How alike a suggestion is at least.
const ALIKE: f64 = 0.7;

/// The setting, and the gap in an address, that says where models are asked.
const REGION: &str = "region";

/// What `models list` is asked.
#[derive(Debug, Args)]
pub(super) struct List {
    /// Only this provider's, whether it is configured or not
    #[arg(long, value_name = "NAME", conflicts_with = "all")]
    provider: Option<String>,
    /// Those of all providers; otherwise those of the configured ones
    #[arg(long)]
    all: bool,
}

/// What `models show` is asked.
#[derive(Debug, Args)]
pub(super) struct Show {
    /// The model: `<provider>/<model>`
    name: String,
    /// Where it is asked, of providers that have regions; otherwise where the configuration says
    #[arg(long, value_name = "NAME")]
    region: Option<String>,
}

/// What is known of prices here.
struct Known {
    own: OwnPrices,
    registry: Arc<dyn Registry>,
}

/// Lists models with their prices.
pub(super) fn list(sources: &Sources, asked: &List) -> anyhow::Result<()> {
    let known = Known::load(sources)?;
    let providers: Option<BTreeSet<&str>> = match (&asked.provider, asked.all) {
        (Some(provider), _) => Some(BTreeSet::from([provider.as_str()])),
        (None, true) => None,
        (None, false) => {
            let hosts = known.registry.configured();
            Some(
                hosts
                    .into_iter()
                    .map(|host| host.provider.as_str())
                    .collect(),
            )
        }
    };
    let is_asked = |name: &str| {
        let (provider, is_whole) = match name.split_once(['/', '*']) {
            Some((provider, _)) => (provider, name.starts_with(&format!("{provider}/"))),
            None => (name, true),
        };
        let is_meant =
            |asked: &&str| *asked == provider || (!is_whole && asked.starts_with(provider));
        providers
            .as_ref()
            .is_none_or(|providers| providers.iter().any(is_meant))
    };
    let rows = PriceBook::rows("").filter(|row| {
        let (provider, _) = row.split();
        is_asked(row.name) && known.book_holds(provider)
    });
    let (everywhere, in_regions): (Vec<Row>, Vec<Row>) = rows.partition(|row| row.region.is_none());
    let everywhere = everywhere.into_iter();
    let mut lines: Vec<[String; 6]> = everywhere
        .map(|row| known.line(row.name, Some(row)))
        .collect();
    let listed: BTreeSet<String> = lines.iter().map(|[name, ..]| name.to_lowercase()).collect();
    let own = known.own.names().filter(|name| is_asked(name));
    let new = own.filter(|name| !listed.contains(&name.to_lowercase()));
    lines.extend(new.map(|name| known.line(name, None)));
    let beginnings = known.own.beginnings();
    let beginnings = beginnings.filter(|(beginning, _)| is_asked(beginning));
    lines.extend(beginnings.map(|(beginning, price)| {
        let (input, output) = in_short(price);
        let nothing = String::new;
        [
            beginning,
            nothing(),
            input,
            output,
            nothing(),
            "file".to_owned(),
        ]
    }));
    lines.sort();
    let count = lines.len();
    if count == 0 && in_regions.is_empty() {
        return no_price(&known, asked.provider.as_deref());
    }
    print(&table::lines(
        ["MODEL", "FOR", "INPUT", "OUTPUT", "TAKES", "PRICE FROM"],
        lines.into_iter(),
    ))?;
    if !in_regions.is_empty() {
        hint(&format!(
            "{count} models; not listed: {} prices that hold in one region alone (`gatewright models show NAME --region REGION`)",
            in_regions.len()
        ));
    }
    Ok(())
}

/// Says that there is nothing to list, and why.
fn no_price(known: &Known, provider: Option<&str>) -> anyhow::Result<()> {
    match provider {
        None => hint("no price is known of any model of the configured providers"),
        Some(provider) if known.registry.host(provider).is_none() => bail!(
            "unknown provider `{provider}`: neither the configuration nor the built-in table has it"
        ),
        Some(provider) => hint(&format!(
            "no price is known of any model of `{provider}`: calls of them have the cost status `unknown`"
        )),
    }
    Ok(())
}

/// Prints all that is known of a model's price.
pub(super) fn show(sources: &Sources, asked: &Show) -> anyhow::Result<()> {
    let known = Known::load(sources)?;
    let Some((provider, model)) = asked.name.split_once('/') else {
        bail!("`{}` is not of the form `<provider>/<model>`", asked.name);
    };
    let provider = provider.to_lowercase();
    let region = asked.region.clone().or_else(|| known.region(&provider));
    let found = PriceBook::find(&provider, model, region.as_deref());
    let own = known.own.price(&provider, model);
    if found.is_none() && own.is_none() {
        bail!(
            "no price is known of `{provider}/{model}`: calls of it have the cost status `unknown`{}",
            suggestion(&provider, model)
        );
    }
    let mut lines = vec![format!("{provider}/{model}")];
    if let Some(price) = own {
        let version = known.own.version().unwrap_or_default();
        lines.push(format!(
            "price from `prices.file` ({version}), which goes before the book"
        ));
        price_lines(&price, &mut lines);
    }
    match found {
        Some(Found::Row(row, way, doubt)) => {
            let region = row.region.map(|region| format!(" in {region}"));
            let region = region.unwrap_or_default();
            lines.push(format!(
                "price from the book ({}): {}{region}, by {way}",
                PriceBook::version(),
                row.name
            ));
            price_lines(&row.price(), &mut lines);
            row_lines(&row, doubt, &mut lines);
        }
        Some(Found::Free(way)) => lines.push(format!(
            "price from the book ({}): nothing is charged, by {way}",
            PriceBook::version()
        )),
        None => {}
    }
    if found.is_some() && !known.book_holds(&provider) {
        lines.push(format!(
            "the book does not hold here: `providers.{provider}.api_base` is another address than the provider's own"
        ));
    }
    print(&lines)
}

impl Known {
    fn load(sources: &Sources) -> anyhow::Result<Self> {
        let config = Config::load(sources)?;
        let (_, providers) = crate::compose::connect(&config)?;
        Ok(Self {
            own: config.own_prices,
            registry: providers.registry,
        })
    }

    /// Where the provider is asked: where its address says, else where the configuration does.
    fn region(&self, provider: &str) -> Option<String> {
        let host = self.registry.host(provider)?;
        let address = host.api_base.as_ref();
        let places = address.and_then(|address| self.registry.home(provider, address));
        let told = places.and_then(|mut places| places.remove(REGION));
        told.or_else(|| host.settings.get(REGION).cloned())
    }

    /// Whether the provider is asked at its own address.
    fn book_holds(&self, provider: &str) -> bool {
        let is_home = |host: &Host| {
            let address = host.api_base.as_ref();
            address.is_none_or(|address| self.registry.home(provider, address).is_some())
        };
        self.registry.host(provider).is_none_or(is_home)
    }

    fn line(&self, name: &str, row: Option<Row>) -> [String; 6] {
        let (provider, model) = name.split_once('/').unwrap_or((name, ""));
        let own = self.own.price(provider, model);
        let price = own
            .or_else(|| row.map(|row| row.price()))
            .unwrap_or_default();
        let (input, output) = in_short(&price);
        let takes = row.and_then(|row| row.limits().max_input_tokens);
        let from = match (own, row) {
            (Some(_), _) => "file",
            (None, Some(row)) if row.is_about() => "book, about",
            _ => "book",
        };
        [
            name.to_owned(),
            row.map_or("", |row| row.mode).to_owned(),
            input,
            output,
            takes.map(|tokens| tokens.to_string()).unwrap_or_default(),
            from.to_owned(),
        ]
    }
}

/// Prices in USD per million tokens; of what is billed by other units, that.
fn in_short(price: &Price) -> (String, String) {
    let units = units(price);
    if price.tokens == TokenPrice::default() && !units.is_empty() {
        let units = units
            .iter()
            .map(|(amount, unit)| format!("{amount} {unit}"));
        return (units.collect::<Vec<_>>().join(", "), String::new());
    }
    let tokens = |amount| decimal(amount, PER_MILLION);
    (tokens(price.tokens.input), tokens(price.tokens.output))
}

fn units(price: &Price) -> Vec<(String, &'static str)> {
    let units = [
        (price.request, "per request"),
        (price.image, "per image"),
        (price.page, "per page"),
        (price.second, "per second"),
    ];
    let units = units.into_iter().filter(|(amount, _)| *amount > 0);
    units
        .map(|(amount, unit)| (decimal(amount, PER_UNIT), unit))
        .collect()
}

fn price_lines(price: &Price, lines: &mut Vec<String>) {
    let units = units(price);
    if price.tokens != TokenPrice::default() || units.is_empty() {
        token_lines(&price.tokens, lines);
    }
    let units = units.iter();
    lines.extend(units.map(|(amount, unit)| format!("  {unit:<16}{amount} USD")));
    if let Some(above) = &price.above {
        lines.push(format!(
            "  for inputs of more than {} tokens",
            above.above_tokens
        ));
        token_lines(&above.tokens, lines);
    }
}

fn token_lines(tokens: &TokenPrice, lines: &mut Vec<String>) {
    let kinds = [
        ("input", Some(tokens.input)),
        ("cached input", tokens.cached),
        ("cache write", tokens.cache_write),
        ("cache write 1h", tokens.cache_write_1h),
        ("audio input", tokens.audio_input),
        ("output", Some(tokens.output)),
        ("reasoning", tokens.reasoning),
        ("audio output", tokens.audio_output),
        ("image output", tokens.image_output),
    ];
    for (kind, amount) in kinds {
        if let Some(amount) = amount {
            let amount = decimal(amount, PER_MILLION);
            lines.push(format!("  {kind:<16}{amount} USD per million tokens"));
        }
    }
}

fn row_lines(row: &Row, doubt: Option<Doubt>, lines: &mut Vec<String>) {
    const ABOUT: &str = "no: costs have the status `estimated`";
    let limits = row.limits();
    let members = [
        ("for", Some(row.mode.to_owned())),
        (
            "takes",
            limits
                .max_input_tokens
                .map(|count| format!("{count} tokens")),
        ),
        (
            "gives",
            limits
                .max_output_tokens
                .map(|count| format!("{count} tokens")),
        ),
        (
            "dimensions",
            limits.dimensions.map(|count| count.to_string()),
        ),
        (
            "knows",
            Some(row.abilities().collect::<Vec<_>>().join(", ")).filter(|known| !known.is_empty()),
        ),
        ("note", row.note().map(str::to_owned)),
        (
            "exact",
            match doubt {
                Some(doubt) => Some(format!("{ABOUT}, for {doubt}")),
                None => row.is_about().then(|| ABOUT.to_owned()),
            },
        ),
        ("source", row.source().map(str::to_owned)),
    ];
    for (name, value) in members {
        lines.extend(value.map(|value| format!("  {name:<16}{value}")));
    }
}

/// The names of the provider that are most like this one.
fn suggestion(provider: &str, model: &str) -> String {
    let rows = format!("{provider}/");
    let rows = PriceBook::rows(&rows).filter(|row| row.region.is_none());
    let rated = rows.map(|row| (strsim::jaro_winkler(row.split().1, model), row.name));
    let mut rated: Vec<(f64, &str)> = rated.filter(|(alike, _)| *alike >= ALIKE).collect();
    rated.sort_by(|one, other| other.0.total_cmp(&one.0));
    let names: Vec<String> = rated
        .into_iter()
        .take(SUGGESTIONS)
        .map(|(_, name)| format!("`{name}`"))
        .collect();
    if names.is_empty() {
        return String::new();
    }
    format!("; the book has {}", names.join(", "))
}
