//! Docling's server, docling-serve: <https://docling-project.github.io/docling/usage/api_server/rest_api/>.
//!
//! A document is handed in, its task is asked after until it is done, and what came of it is fetched: the server's own way
//! for documents that take longer than a connection may stay open. What it gives back is cut into pages here. It has no
//! request that ends a task: whoever leaves leaves it working.

mod document;
mod fault;
mod form;
mod markdown;
mod page;
mod ranges;
mod request;
mod tags;
mod task;

use std::sync::Arc;

use async_trait::async_trait;
use domain::{
    Json, JsonObject, OcrPage, OcrPages, OcrRequest, Rung,
    seams::{Provider, ProviderError, Target},
};
use serde_json::json;

use self::{form::Form, page::Reader, request::Options, task::Server};
use crate::{
    compatible::RUNGS,
    reading::brief,
    wire::{Client, Turns, within},
};

/// The provider's name, and its dialect's.
pub(crate) const NAME: &str = "docling";
/// Where the server is unless it is said.
pub(crate) const API_BASE: &str = "http://localhost:5001";
/// Where the server itself looks for the key that it wants.
pub(crate) const KEY_VARIABLE: &str = "DOCLING_SERVE_API_KEY";

/// The provider.
pub(crate) struct Docling {
    client: Arc<Client>,
}

/// What has come of a document so far.
#[derive(Default)]
struct Gathered {
    pages: Vec<OcrPage>,
    /// What went wrong with some of them.
    errors: Vec<serde_json::Value>,
    /// The pages are counted over the document, and so are their pictures.
    pictures: usize,
    /// Whether every page is in the form that was asked for.
    is_in_form: bool,
}

impl Docling {
    /// Speaks through `client`.
    pub(crate) const fn new(client: Arc<Client>) -> Self {
        Self { client }
    }

    /// Has a document read with the target's one key.
    async fn read(&self, target: &Target, request: &OcrRequest) -> Result<OcrPages, ProviderError> {
        let form = Form::of(&request.extras.docling)?;
        let options = Options::new(target, request, form);
        let server = Server::new(&self.client, target)?;
        let ranges = ranges::of(request.pages.as_deref());
        if let Some(pages) = &request.pages {
            let total = u32::try_from(pages.len()).unwrap_or(u32::MAX);
            request.progress.expect(total);
        }
        let mut gathered = Gathered {
            is_in_form: true,
            ..Gathered::default()
        };
        for range in ranges {
            let outcome = server.convert(&options.body(range)).await?;
            let mut reader = Reader {
                options: &options,
                request,
                pictures: &mut gathered.pictures,
                is_in_form: &mut gathered.is_in_form,
            };
            gathered.pages.extend(reader.pages(&outcome));
            let errors = outcome.told_errors(|words| server.told(words));
            gathered.errors.extend(errors);
            // A task tells how many documents of it are done, and this one has but one; so a task is a step.
            let done = u32::try_from(gathered.pages.len()).unwrap_or(u32::MAX);
            request.progress.reach(done);
        }
        if gathered.pages.is_empty() && !gathered.errors.is_empty() {
            let first = gathered.errors[0]["message"].as_str().unwrap_or_default();
            return Err(server.no_pages(first));
        }
        Ok(gathered.finish(&options))
    }
}

impl Gathered {
    fn finish(self, options: &Options<'_>) -> OcrPages {
        let form = if self.is_in_form {
            options.form
        } else {
            Form::Markdown
        };
        let mut applied_settings: JsonObject = options.told();
        let mut tell = |name: &str, value: Json| applied_settings.insert(name.to_owned(), value);
        tell("output_format", Json::of(&form.name()));
        if !self.errors.is_empty() {
            tell("errors", Json::of(&json!(self.errors)));
        }
        OcrPages {
            pages: self.pages,
            applied_settings,
            // Its own count is of all pages that it looked at.
            usage: None,
        }
    }
}

#[async_trait]
impl Provider for Docling {
    async fn recognize(
        &self,
        target: &Target,
        request: &OcrRequest,
    ) -> Result<OcrPages, ProviderError> {
        self.check(target)?;
        let mut turns = Turns::of(&self.client, target);
        loop {
            let target = turns.target();
            let read = within(target, self.read(target, request)).await;
            let read = read.map_err(brief);
            if !turns.go_on(&read) {
                return read;
            }
        }
    }

    fn rungs(&self, _: &Target) -> &'static [Rung] {
        &RUNGS
    }

    fn check(&self, target: &Target) -> Result<(), ProviderError> {
        self.client.check(target)
    }
}
