//! Where the dialect is spoken: addresses, keys, and what must be known before anything is sent.

use std::borrow::Cow;

use domain::{
    Part,
    seams::{ProviderError, ProviderErrorKind as Kind, Target},
};
use http::{HeaderName, header};
use serde::Serialize;

use super::media::{FILMS, media_type};
use crate::wire::{Grant, ServiceAccount, WireRequest, secret_header};

const API_KEY: HeaderName = HeaderName::from_static("x-goog-api-key");
const PROJECT: &str = "project";
const REGION: &str = "region";
/// What Google's API keys begin with, and no token does.
const KEY_BEGINNINGS: [&str; 2] = ["AIza", "AQ."];
/// Files that were given to AI Studio before.
const FILES: &str = "https://generativelanguage.googleapis.com/";
/// Locations whose hosts are named otherwise than `{region}-aiplatform.googleapis.com`
/// (<https://docs.cloud.google.com/gemini-enterprise-agent-platform/resources/locations>).
const OTHER_HOSTS: [(&str, &str); 3] = [
    (
        "//global-aiplatform.googleapis.com",
        "//aiplatform.googleapis.com",
    ),
    (
        "//us-aiplatform.googleapis.com",
        "//aiplatform.us.rep.googleapis.com",
    ),
    (
        "//eu-aiplatform.googleapis.com",
        "//aiplatform.eu.rep.googleapis.com",
    ),
];

/// One of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// AI Studio: an API key.
    Studio,
    /// Vertex AI: a project, a region, and a service account or a token.
    Vertex,
}

impl Place {
    /// A body to a method of the target's model.
    pub(super) fn request(
        self,
        target: &Target,
        method: &str,
        body: &impl Serialize,
    ) -> Result<WireRequest, ProviderError> {
        let mut wire = WireRequest::json("", body);
        wire.segments = self.segments(target, method)?;
        if let Some(key) = &target.key {
            let key = key.expose();
            let is_api_key = KEY_BEGINNINGS.iter().any(|it| key.starts_with(it));
            let (name, value) = if self == Self::Studio || is_api_key {
                (API_KEY, key.to_owned())
            } else {
                (header::AUTHORIZATION, format!("Bearer {key}"))
            };
            wire.headers.insert(name, secret_header(value)?);
        }
        Ok(wire)
    }

    fn segments(
        self,
        target: &Target,
        method: &str,
    ) -> Result<Vec<Cow<'static, str>>, ProviderError> {
        let mut path = match self {
            Self::Studio => String::new(),
            Self::Vertex if !needs_location(target) => String::new(),
            Self::Vertex => {
                let project = setting(target, PROJECT).ok_or_else(|| lacks(target, PROJECT))?;
                let region = setting(target, REGION).ok_or_else(|| lacks(target, REGION))?;
                format!("projects/{project}/locations/{region}/")
            }
        };
        // A name with a slash says itself which collection it is in: `tunedModels/…`, `endpoints/…`, `projects/…`.
        path += match self {
            _ if target.model.contains('/') => "",
            Self::Studio => "models/",
            Self::Vertex if api_base(target).contains("/publishers/") => "models/",
            Self::Vertex => "publishers/google/models/",
        };
        path.extend([target.model.as_str(), ":", method]);
        let segments = path.split('/').map(|segment| segment.to_owned().into());
        Ok(segments.collect())
    }

    /// Whether key and settings are there.
    pub(super) fn check(self, target: &Target) -> Result<(), ProviderError> {
        let Some(key) = &target.key else {
            let what = match self {
                Self::Studio => "an API key of AI Studio",
                Self::Vertex => "the JSON text of a service account, or an access token",
            };
            let reason = format!(
                "the provider `{}` has no key: set its `api_key` to {what}",
                target.provider
            );
            return Err(ProviderError::new(Kind::Misconfigured, reason));
        };
        if self == Self::Studio {
            return Ok(());
        }
        let project = account(key.expose()).transpose()?;
        let project = project.and_then(|account| account.project_id);
        let is_placed = project.is_some() || setting(target, PROJECT).is_some();
        let needs_region = needs_location(target) || api_base(target).contains("{region}");
        if needs_region && setting(target, REGION).is_none() {
            return Err(lacks(target, REGION));
        }
        if needs_location(target) && !is_placed {
            return Err(lacks(target, PROJECT));
        }
        Ok(())
    }

    /// The target with the project that its service account belongs to, and with its region's host.
    pub(super) fn settled(self, target: &Target) -> Result<Cow<'_, Target>, ProviderError> {
        let mut settled = Cow::Borrowed(target);
        if self == Self::Studio {
            return Ok(settled);
        }
        let key = target.key.as_ref().map(domain::Secret::expose);
        if setting(target, PROJECT).is_none()
            && let Some(account) = key.and_then(account).transpose()?
            && let Some(project) = account.project_id
        {
            let settings = &mut settled.to_mut().settings;
            settings.insert(PROJECT.to_owned(), project);
        }
        let api_base = api_base(target);
        let other = OTHER_HOSTS
            .iter()
            .find(|(usual, _)| api_base.contains(usual));
        if let Some((usual, own)) = other {
            settled.to_mut().api_base = Some(api_base.replacen(usual, own, 1));
        }
        Ok(settled)
    }

    /// The service account, where the key is one.
    pub(super) fn grant(self, target: &Target) -> Result<Option<Grant>, ProviderError> {
        match (self, &target.key) {
            (Self::Vertex, Some(key)) => {
                let account = account(key.expose()).transpose()?;
                Ok(account.map(Grant::ServiceAccount))
            }
            _ => Ok(None),
        }
    }

    /// Whether the place does not fetch from the part's address itself.
    ///
    /// Vertex AI does if it is told the type, and so if the address shows it. AI Studio does for some models and some
    /// types alone, so there only what we cannot fetch is left to it.
    pub(super) fn needs_bytes(self, part: &Part) -> bool {
        let url = match part {
            Part::Text(_) => return false,
            Part::Image(url) | Part::Audio(url) | Part::File(url) => url,
        };
        match self {
            Self::Studio => {
                let is_film = FILMS.iter().any(|films| url.starts_with(films));
                !is_film && !url.starts_with(FILES)
            }
            Self::Vertex => media_type(url).is_none(),
        }
    }
}

/// Whether project and region have to come before the model in the path.
fn needs_location(target: &Target) -> bool {
    let api_base = api_base(target);
    let is_whole = api_base.contains("/projects/") || api_base.contains("/publishers/");
    !is_whole && !target.model.starts_with("projects/")
}

fn api_base(target: &Target) -> &str {
    target.api_base.as_deref().unwrap_or_default()
}

fn setting<'t>(target: &'t Target, name: &str) -> Option<&'t str> {
    let value = target.settings.get(name).map(|value| value.trim());
    value.filter(|value| !value.is_empty())
}

fn account(key: &str) -> Option<Result<ServiceAccount, ProviderError>> {
    key.trim_start()
        .starts_with('{')
        .then(|| ServiceAccount::read(key))
}

fn lacks(target: &Target, name: &str) -> ProviderError {
    let example = if name == REGION {
        ", such as `global` or `europe-west4`"
    } else {
        ""
    };
    let reason = format!(
        "the provider `{}` needs to know the {name}: set `{name}`{example}",
        target.provider
    );
    ProviderError::new(Kind::Misconfigured, reason)
}

#[cfg(test)]
mod tests {
    use domain::Secret;

    use super::*;
    use crate::wire::tests::target;

    const ACCOUNT: &str =
        r#"{"client_email":"a@b","private_key":"-","project_id":"of-the-account"}"#;

    fn on_vertex(api_base: &str, key: &str, settings: &[(&str, &str)]) -> Target {
        let settings = settings.iter();
        let settings = settings.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Target {
            key: Some(Secret::new(key)),
            settings: settings.collect(),
            ..target(api_base)
        }
    }

    #[test]
    fn each_location_has_its_host_and_each_account_its_project() {
        let cases = [
            (
                "https://global-aiplatform.googleapis.com/v1",
                "https://aiplatform.googleapis.com/v1",
            ),
            (
                "https://eu-aiplatform.googleapis.com/v1",
                "https://aiplatform.eu.rep.googleapis.com/v1",
            ),
            (
                "https://us-aiplatform.googleapis.com/v1",
                "https://aiplatform.us.rep.googleapis.com/v1",
            ),
            (
                "https://us-central1-aiplatform.googleapis.com/v1",
                "https://us-central1-aiplatform.googleapis.com/v1",
            ),
            ("http://10.0.0.1/v1", "http://10.0.0.1/v1"),
        ];

        for (given, expected) in cases {
            let given = on_vertex(given, ACCOUNT, &[]);
            let settled = Place::Vertex.settled(&given).unwrap();
            assert_eq!(settled.api_base.as_deref(), Some(expected));
            assert_eq!(setting(&settled, PROJECT), Some("of-the-account"));
        }
        let named = on_vertex("http://h", ACCOUNT, &[(PROJECT, "mine")]);
        let settled = Place::Vertex.settled(&named).unwrap();
        assert_eq!(setting(&settled, PROJECT), Some("mine"));
        let studio = on_vertex("https://global-aiplatform.googleapis.com/v1", ACCOUNT, &[]);
        let settled = Place::Studio.settled(&studio).unwrap();
        assert_eq!(settled.api_base, studio.api_base);
    }

    #[test]
    fn what_is_missing_is_named() {
        let host = "https://{region}-aiplatform.googleapis.com/v1";
        let whole = "http://h/v1/projects/p/locations/global/";
        let express = "https://aiplatform.googleapis.com/v1/publishers/google";
        let cases = [
            (host, ACCOUNT, &[] as &[(&str, &str)], Some("region")),
            (host, "ya29.x", &[(REGION, "global")], Some("project")),
            (host, ACCOUNT, &[(REGION, "global")], None),
            (
                "http://h",
                "ya29.x",
                &[(REGION, " "), (PROJECT, "p")],
                Some("region"),
            ),
            (whole, "ya29.x", &[], None),
            (express, "AQ.x", &[], None),
        ];

        for (api_base, key, settings, missing) in cases {
            let checked = Place::Vertex.check(&on_vertex(api_base, key, settings));
            let reason = checked.err().map(|error| error.reason);
            let names = |reason: &String| {
                missing.is_some_and(|name| reason.contains(&format!("set `{name}`")))
            };
            assert_eq!(
                reason.as_ref().map(names),
                missing.map(|_| true),
                "{reason:?}"
            );
        }
    }

    #[test]
    fn the_path_leads_to_the_model() {
        let path = |place: Place, api_base: &str, model: &str| {
            let settings = [(REGION, "global"), (PROJECT, "p")];
            let target = Target {
                model: model.to_owned(),
                ..on_vertex(api_base, "ya29.x", &settings)
            };
            place.segments(&target, "do").unwrap().join("/")
        };

        let cases = [
            (path(Place::Studio, "http://h", "m"), "models/m:do"),
            (
                path(Place::Studio, "http://h", "tunedModels/m"),
                "tunedModels/m:do",
            ),
            (
                path(Place::Vertex, "http://h", "m"),
                "projects/p/locations/global/publishers/google/models/m:do",
            ),
            (
                path(Place::Vertex, "http://h", "publishers/x/models/m"),
                "projects/p/locations/global/publishers/x/models/m:do",
            ),
            (
                path(
                    Place::Vertex,
                    "http://h",
                    "projects/q/locations/r/endpoints/1",
                ),
                "projects/q/locations/r/endpoints/1:do",
            ),
            (
                path(Place::Vertex, "http://h/projects/q/locations/r", "m"),
                "publishers/google/models/m:do",
            ),
            (
                path(Place::Vertex, "http://h/publishers/google", "m"),
                "models/m:do",
            ),
        ];
        for (found, expected) in cases {
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn addresses_that_nobody_else_can_read_are_left_to_the_host() {
        let cases = [
            (
                "https://generativelanguage.googleapis.com/v1beta/files/a",
                false,
                true,
            ),
            ("https://youtu.be/9hE5-98ZeCg", false, false),
            ("https://example.com/a.PNG?b=c", true, false),
            ("https://example.com/a.svg", true, true),
            ("https://example.com/a", true, true),
            ("https://example.com", true, true),
        ];

        for (url, in_studio, on_vertex) in cases {
            let part = Part::File(url.to_owned());
            let found = (
                Place::Studio.needs_bytes(&part),
                Place::Vertex.needs_bytes(&part),
            );
            assert_eq!(found, (in_studio, on_vertex), "{url}");
        }
        assert!(!Place::Studio.needs_bytes(&Part::Text(String::new())));
    }
}
