//! Whether values make sense: addresses, times, sizes.

use std::net::{SocketAddr, ToSocketAddrs};

use toml::Value;
use url::Url;

use crate::config::{key::Key, layers::Layers};

/// One TiB, and more calls than any machine holds: beyond lie overflows, not uses.
const MAX_COUNT: i64 = 1 << 40;
/// A year.
const MAX_SECONDS: f64 = 31_536_000.0;
const MAX_MIB: f64 = 1_048_576.0;
const MAX_MARKUP: f64 = 1_000.0;
/// A cent, and a billion.
const LEAST_USD: f64 = 0.01;
const MOST_USD: f64 = 1e9;
/// A century.
const MAX_DAYS: f64 = 36_525.0;
/// A PiB.
const MAX_GIB: f64 = 1_048_576.0;

/// Refuses what makes no sense, and puts addresses into the form that is bound.
pub(crate) fn check(layers: &mut Layers) {
    let mut refused = Vec::new();
    for (key, entry) in &mut layers.entries {
        match sensible(key, &entry.value) {
            Ok(value) => entry.value = value,
            Err(reason) => refused.push((key.clone(), reason)),
        }
    }
    for (key, reason) in refused {
        layers.refuse(&key, &reason);
    }
}

fn sensible(key: &Key, value: &Value) -> Result<Value, String> {
    match (key.last(), value) {
        ("listen", Value::String(text)) => {
            return address(text).map(|address| Value::String(address.to_string()));
        }
        ("api_base", Value::String(text)) => base_address(text)?,
        (_, Value::String(text)) if text.trim().is_empty() => return Err("is empty".to_owned()),
        (name, _) if name.ends_with("_seconds") => {
            let least = if name == "drain_seconds" { 0.0 } else { 0.001 };
            between(value, least, MAX_SECONDS)?;
        }
        ("languages", Value::String(text)) if !is_languages(text) => {
            return Err("is not as `tesseract -l` takes it, such as \"eng+deu\"".to_owned());
        }
        ("min_free_mib", _) => between(value, 0.0, MAX_MIB)?,
        ("markup", _) => between(value, 0.0, MAX_MARKUP)?,
        ("usd_per_day", _) => between(value, LEAST_USD, MOST_USD)?,
        (name, _) if name.ends_with("_per_minute") => between(value, 1.0, f64::from(u32::MAX))?,
        ("keep_days", _) => between(value, 0.0, MAX_DAYS)?,
        ("max_gib", _) => between(value, 0.0, MAX_GIB)?,
        (_, Value::Integer(count)) if !(1..=MAX_COUNT).contains(count) => {
            return Err(format!("is not between 1 and {MAX_COUNT}"));
        }
        _ => {}
    }
    Ok(value.clone())
}

/// Names of languages with `+` between them: `eng+chi_sim+script/Latin`.
fn is_languages(text: &str) -> bool {
    let is_sign = |sign: char| sign.is_ascii_alphanumeric() || "_-/".contains(sign);
    let mut names = text.split('+');
    names.all(|name| !name.is_empty() && !name.starts_with('-') && name.chars().all(is_sign))
}

/// `HOST:PORT` as an address; a host's name is looked up.
fn address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let no_address = || "is not HOST:PORT, such as 127.0.0.1:8080".to_owned();
    let (host, port) = text.rsplit_once(':').ok_or_else(no_address)?;
    if host.is_empty() || port.parse::<u16>().is_err() {
        return Err(no_address());
    }
    let found: Vec<SocketAddr> = text
        .to_socket_addrs()
        .map_err(|_| format!("names the host `{host}`, which has no address"))?
        .collect();
    // `localhost` is often both; what people type next is 127.0.0.1.
    let first = found
        .iter()
        .find(|address| address.is_ipv4())
        .or(found.first());
    first.copied().ok_or_else(no_address)
}

fn base_address(text: &str) -> Result<(), String> {
    let url = Url::parse(text).map_err(|fault| format!("is not a URL: {fault}"))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err("is not an http or https URL".to_owned());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(
            "has a user or password in it; the key goes into api_key_env or api_key_file"
                .to_owned(),
        );
    }
    Ok(())
}

fn between(value: &Value, least: f64, most: f64) -> Result<(), String> {
    #[expect(
        clippy::cast_precision_loss,
        reason = "only compared with small bounds"
    )]
    let number = match value {
        Value::Integer(number) => *number as f64,
        Value::Float(number) => *number,
        _ => f64::NAN,
    };
    // Not a range check turned round: NaN is in no range.
    if number >= least && number <= most {
        return Ok(());
    }
    Err(format!("is not between {least} and {most}"))
}
