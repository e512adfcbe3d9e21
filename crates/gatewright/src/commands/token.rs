//! `gatewright token`: what opens a project.

use std::{
    collections::HashMap,
    io::{self, Write},
    time::Duration,
};

use anyhow::{Context, bail};
use clap::Args;
use domain::{
    ProjectName, Timestamp, Token, TokenId, TokenKey,
    seams::{Clock, RandomIds, Store, SystemClock},
};
use engine::token;

use crate::{
    commands::{Opened, hint, print, project_name, table},
    compose::project_named,
};

const LABEL_CHARS: usize = 128;
/// A hundred years: what lies beyond is a slip of the finger.
const MAX_LIFETIME: Duration = Duration::from_hours(24 * 36_525);

/// What `token create` is asked.
#[derive(Debug, Args)]
pub(super) struct Create {
    /// The project that the token opens
    #[arg(long, value_name = "NAME", value_parser = project_name)]
    project: ProjectName,
    /// What `token list` shows beside it
    #[arg(long, value_name = "TEXT", value_parser = label)]
    label: Option<String>,
    /// For how long it is good: 90m, 12h, 30d or 2w; without it, until it is revoked
    #[arg(long, value_name = "TIME", value_parser = lifetime)]
    expires: Option<Duration>,
    /// How many calls it is good for a minute; without it, as many as its project
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    calls_per_minute: Option<u32>,
}

/// Makes a token and prints it: alone on standard output, so that a script can take it from there.
pub(super) async fn create(opened: &Opened, asked: Create) -> anyhow::Result<()> {
    let store = &*opened.store;
    let is_new = store.project_by_name(&asked.project).await?.is_none();
    let project = project_named(store, (&SystemClock, &RandomIds), &asked.project).await?;
    if is_new {
        hint(&format!("created project `{}`", project.name));
    }
    let new = token::generate();
    let now = SystemClock.now();
    let token = Token {
        id: new.id,
        hash: new.hash,
        project: project.id,
        label: asked.label,
        created_at: now,
        expires_at: asked.expires.map(|lifetime| now.plus(lifetime)),
        revoked_at: None,
        calls_per_minute: asked.calls_per_minute,
    };
    store.insert_token(&token).await?;
    let (id, name, data_dir) = (&token.id, &project.name, opened.data_dir.display());
    writeln!(io::stdout(), "{}", new.secret.expose())
        .with_context(|| format!("the token `{id}` was made, but could not be printed"))?;
    hint(&format!(
        "token {id} opens project `{name}` in {data_dir}; it is not shown again"
    ));
    Ok(())
}

/// Lists all tokens, oldest first.
pub(super) async fn list(store: &dyn Store) -> anyhow::Result<()> {
    let projects = store.projects().await?;
    let names: HashMap<_, _> = projects
        .into_iter()
        .map(|project| (project.id, project.name))
        .collect();
    let now = SystemClock.now();
    let tokens = store.tokens().await?;
    let rows = tokens.iter().map(|token| {
        [
            token.id.to_string(),
            names
                .get(&token.project)
                .map_or_else(|| token.project.to_string(), ToString::to_string),
            token.label.clone().unwrap_or_default(),
            table::time(token.created_at),
            token
                .expires_at
                .map_or_else(|| "never".to_owned(), table::time),
            token
                .calls_per_minute
                .map_or_else(|| "any".to_owned(), |most| most.to_string()),
            state(token, now).to_owned(),
        ]
    });
    print(&table::lines(
        [
            "ID",
            "PROJECT",
            "LABEL",
            "CREATED",
            "EXPIRES",
            "CALLS/MIN",
            "STATE",
        ],
        rows,
    ))
}

/// Revokes a token by its id. Doing it twice is no fault.
pub(super) async fn revoke(store: &dyn Store, id: &str) -> anyhow::Result<()> {
    let id = match token::key_of(id) {
        // Whoever found a leaked token has all of it, and not its id.
        Some((TokenKey::Id(id), _)) => id,
        _ => TokenId::new(id),
    };
    if !store.revoke_token(&id, SystemClock.now()).await? {
        bail!("there is no token with that id; `gatewright token list` shows all of them");
    }
    print(&[format!("revoked token {id}")])
}

const fn state(token: &Token, now: Timestamp) -> &'static str {
    match token {
        Token {
            revoked_at: Some(_),
            ..
        } => "revoked",
        Token {
            expires_at: Some(at),
            ..
        } if at.micros() <= now.micros() => "expired",
        _ => "active",
    }
}

/// A label that cannot break a line of `token list`.
fn label(text: &str) -> Result<String, String> {
    if text.trim().is_empty()
        || text.chars().count() > LABEL_CHARS
        || text.contains(char::is_control)
    {
        return Err(format!(
            "a label is 1 to {LABEL_CHARS} characters on one line"
        ));
    }
    Ok(text.to_owned())
}

/// A whole number and its unit, as in `30d`.
fn lifetime(text: &str) -> Result<Duration, String> {
    let refused =
        || "write a whole number and `m`, `h`, `d` or `w`, as in 90m, 12h, 30d or 2w".to_owned();
    let unit = text.chars().last().ok_or_else(refused)?;
    let number = text.strip_suffix(unit).unwrap_or_default();
    let minutes_in_unit = match unit {
        'm' => 1,
        'h' => 60,
        'd' => 24 * 60,
        'w' => 7 * 24 * 60,
        _ => return Err(refused()),
    };
    if !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(refused());
    }
    let number: u64 = number.parse().map_err(|_| refused())?;
    let lifetime = number
        .checked_mul(minutes_in_unit * 60)
        .map(Duration::from_secs);
    match lifetime {
        Some(Duration::ZERO) => Err("a token that expires at once opens nothing".to_owned()),
        Some(lifetime) if lifetime <= MAX_LIFETIME => Ok(lifetime),
        _ => Err(
            "the longest time is 100 years; without --expires a token is good until it is revoked"
                .to_owned(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use domain::seams::{CountingIds, Ids};

    use super::*;

    #[test]
    fn lifetimes_are_a_number_and_a_unit() {
        for (text, minutes) in [
            ("1m", 1),
            ("90m", 90),
            ("12h", 720),
            ("30d", 43_200),
            ("2w", 20_160),
        ] {
            assert_eq!(
                lifetime(text),
                Ok(Duration::from_secs(minutes * 60)),
                "{text}"
            );
        }
        for text in [
            "",
            "d",
            "30",
            "30 d",
            "-1d",
            "+1d",
            "1.5h",
            "30x",
            "30é",
            "0d",
            "36526d",
            "99999999999999999999w",
            "18446744073709551615w",
            "30days",
        ] {
            assert!(lifetime(text).is_err(), "{text}");
        }
    }

    #[test]
    fn labels_stay_on_one_line() {
        assert_eq!(
            label("build server, Köln"),
            Ok("build server, Köln".to_owned())
        );
        for text in ["", "  ", "two\nlines", "a\u{1b}[31m", &"x".repeat(129)] {
            assert!(label(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_token_is_active_until_it_expires_or_is_revoked() {
        let at = Timestamp::from_micros;
        for (expires_at, revoked_at, expected) in [
            (None, None, "active"),
            (Some(at(11)), None, "active"),
            (Some(at(10)), None, "expired"),
            (None, Some(at(5)), "revoked"),
            (Some(at(10)), Some(at(5)), "revoked"),
        ] {
            let token = Token {
                id: TokenId::new("a"),
                hash: [0; 32],
                project: CountingIds::default().next().into(),
                label: None,
                created_at: at(0),
                expires_at,
                revoked_at,
                calls_per_minute: None,
            };
            assert_eq!(
                state(&token, at(10)),
                expected,
                "{expires_at:?} {revoked_at:?}"
            );
        }
    }
}
