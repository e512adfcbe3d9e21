//! What is kept of a project's spans, and for how long: the operator's word (`[spans]`, `[projects.NAME.spans]`).

use std::{sync::Arc, time::Duration};

use domain::{
    Json, JsonObject, Observation, ProjectId, Span, SpanBounds, SpanChange, SpanWrite, Timestamp,
    seams::StoreError,
};

use crate::{
    calls::{CLIENT_GONE, CLIENT_STALLED},
    options::{Content, ProjectSpansOptions, SpansOptions},
    projects::Projects,
};

const DAY: Duration = Duration::from_hours(24);
const GIB: f64 = 1_073_741_824.0;
/// What stands for words that are not kept.
const NOT_KEPT: &str = "not kept";
/// Members of `meta` with words out of what went in or came out.
const WORDY: [&str; 2] = ["warnings", "applied_settings"];
const ATTEMPTS: &str = "models_tried";

/// What holds for every project.
pub(crate) struct Keeping {
    projects: Arc<Projects>,
    usual: SpansOptions,
}

/// What holds for one project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rule {
    keep: Option<Duration>,
    max_bytes: Option<u64>,
    content: Content,
}

impl Keeping {
    pub(crate) fn new(projects: Arc<Projects>, usual: SpansOptions) -> Self {
        Self { projects, usual }
    }

    /// Whether there is a bound at all.
    pub(super) fn is_bounded(&self) -> bool {
        let own = self.projects.spans_of_all().map(|own| self.over(own));
        own.chain([Rule::of(self.usual)])
            .any(|rule| rule.keep.is_some() || rule.max_bytes.is_some())
    }

    /// What holds for a project.
    pub(super) async fn rule(&self, project: ProjectId) -> Result<Rule, StoreError> {
        Ok(self.over(self.projects.spans_of(project).await?))
    }

    /// What a project's own word makes of the usual one.
    fn over(&self, own: ProjectSpansOptions) -> Rule {
        Rule::of(laid_over(own, self.usual))
    }

    /// What is written of a span, as far as it is kept.
    pub(super) async fn write(&self, write: SpanWrite) -> Result<SpanWrite, StoreError> {
        let rule = self.rule(write.span().project).await?;
        Ok(rule.write(write))
    }

    /// What a client changes in a span, as far as it is kept.
    pub(super) async fn change(
        &self,
        project: ProjectId,
        change: SpanChange,
    ) -> Result<SpanChange, StoreError> {
        Ok(self.rule(project).await?.change(change))
    }

    /// What the judge says of a call, as far as it is kept: it may quote.
    pub(crate) async fn observation(
        &self,
        project: ProjectId,
        observation: Observation,
    ) -> Result<Observation, StoreError> {
        let observations = match self.rule(project).await?.content {
            Content::Full => observation.observations,
            Content::None => NOT_KEPT.to_owned(),
        };
        Ok(Observation {
            observations,
            ..observation
        })
    }
}

fn laid_over(own: ProjectSpansOptions, usual: SpansOptions) -> SpansOptions {
    SpansOptions {
        keep_days: own.keep_days.unwrap_or(usual.keep_days),
        max_gib: own.max_gib.unwrap_or(usual.max_gib),
        content: own.content.unwrap_or(usual.content),
    }
}

impl Rule {
    fn of(options: SpansOptions) -> Self {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the configuration lets in what is between 0 and a PiB"
        )]
        let max_bytes = (options.max_gib * GIB) as u64;
        Self {
            keep: (options.keep_days > 0).then(|| DAY * options.keep_days),
            max_bytes: (options.max_gib > 0.0).then_some(max_bytes),
            content: options.content,
        }
    }

    /// What is kept at that time, if not all.
    pub(super) fn bounds(self, now: Timestamp) -> Option<SpanBounds> {
        let bounds = SpanBounds {
            since: self.keep.map(|keep| now.minus(keep)),
            max_bytes: self.max_bytes,
        };
        (bounds != SpanBounds::default()).then_some(bounds)
    }

    fn write(self, mut write: SpanWrite) -> SpanWrite {
        if self.content == Content::Full {
            return write;
        }
        let is_given = matches!(write, SpanWrite::Given(_));
        let span = write.span_mut();
        (span.input, span.output) = (None, None);
        span.error = span.error.take().map(|error| match &*error {
            CLIENT_GONE | CLIENT_STALLED => error,
            _ if is_given => NOT_KEPT.to_owned(),
            _ => class(span).unwrap_or_else(|| NOT_KEPT.to_owned()),
        });
        // A client's members are its own.
        if !is_given {
            span.meta = without_words(&span.meta);
        }
        write
    }

    fn change(self, mut change: SpanChange) -> SpanChange {
        if self.content == Content::None {
            for body in [&mut change.input, &mut change.output] {
                *body = body.as_ref().map(|_| None);
            }
            let error = change.error.as_mut().and_then(Option::as_mut);
            if let Some(error) = error {
                NOT_KEPT.clone_into(error);
            }
        }
        change
    }
}

/// The class of a call's error.
fn class(span: &Span) -> Option<String> {
    let meta: JsonObject = serde_json::from_str(span.meta.text()).ok()?;
    meta.get("error_type")?.as_string()
}

/// The `meta` of a span of ours without the words that it has of providers.
fn without_words(meta: &Json) -> Json {
    let Ok(mut members) = serde_json::from_str::<JsonObject>(meta.text()) else {
        return Json::of(&JsonObject::new());
    };
    members.retain(|name, _| !WORDY.contains(&name.as_str()));
    if let Some(tried) = members.get_mut(ATTEMPTS) {
        let mut attempts: Vec<JsonObject> = serde_json::from_str(tried.text()).unwrap_or_default();
        for attempt in &mut attempts {
            attempt.shift_remove("usage_reported");
            if let Some(reason) = attempt.get_mut("reason") {
                *reason = Json::null();
            }
        }
        *tried = Json::of(&attempts);
    }
    Json::of(&members)
}

#[cfg(test)]
mod tests {
    use domain::{SpanId, TraceId};

    use super::*;

    const USUAL: SpansOptions = SpansOptions {
        keep_days: 0,
        max_gib: 0.0,
        content: Content::Full,
    };
    const SILENT: Rule = Rule {
        keep: None,
        max_bytes: None,
        content: Content::None,
    };

    fn span(error: Option<&str>, meta: &str) -> Span {
        let id = "00000000-0000-7000-8000-000000000001";
        Span {
            id: SpanId::parse(id).unwrap(),
            project: ProjectId::parse(id).unwrap(),
            name: "step".to_owned(),
            kind: None,
            trace_id: TraceId::parse(id).unwrap(),
            parent_id: None,
            start_time: None,
            end_time: None,
            input: Some(Json::of(&"secret")),
            output: Some(Json::of(&"secret")),
            error: error.map(str::to_owned),
            meta: Json::parse(meta).unwrap(),
            score: Some(1),
            feedback: None,
        }
    }

    #[test]
    fn nothing_said_is_no_bound_and_a_projects_word_goes_first() {
        let now = Timestamp::from_micros(86_400_000_000 * 10);
        let own = ProjectSpansOptions {
            keep_days: Some(3),
            max_gib: None,
            content: Some(Content::None),
        };
        let usual = SpansOptions {
            keep_days: 7,
            max_gib: 0.5,
            ..USUAL
        };
        let over = Rule::of(laid_over(own, usual));

        assert_eq!(Rule::of(USUAL).bounds(now), None);
        let bounds = |days_ago: i64| SpanBounds {
            since: Some(Timestamp::from_micros(86_400_000_000 * (10 - days_ago))),
            max_bytes: Some(512 << 20),
        };
        assert_eq!(Rule::of(usual).bounds(now), Some(bounds(7)));
        assert_eq!(over.bounds(now), Some(bounds(3)));
        assert_eq!(over.content, Content::None);
    }

    #[test]
    fn without_content_numbers_names_and_classes_stay() {
        let meta = r#"{"tags":{"a":"b"},"models_tried":[{"model":"m/n","reason":"secret","cost":0.10,"usage_reported":{"x":"secret"}}],"cost":1.50,"warnings":["secret"],"error_type":"UpstreamError"}"#;
        let failed = span(Some("UpstreamError: secret"), meta);

        let written = SILENT.write(SpanWrite::Close(failed.clone()));

        let expected = Span {
            input: None,
            output: None,
            error: Some("UpstreamError".to_owned()),
            meta: Json::parse(
                r#"{"tags":{"a":"b"},"models_tried":[{"model":"m/n","reason":null,"cost":0.10}],"cost":1.50,"error_type":"UpstreamError"}"#,
            )
            .unwrap(),
            ..failed
        };
        assert_eq!(written, SpanWrite::Close(expected));
    }

    #[test]
    fn an_error_without_a_class_is_not_kept_and_one_of_ours_is() {
        for (error, kept) in [
            (Some(CLIENT_GONE), Some(CLIENT_GONE)),
            (Some("secret"), Some(NOT_KEPT)),
            (None, None),
        ] {
            let written = SILENT.write(SpanWrite::New(span(error, "{}")));
            assert_eq!(written.span().error.as_deref(), kept);
        }
    }

    #[test]
    fn a_clients_own_members_stay_and_its_words_do_not() {
        let meta = r#"{"warnings":["mine"],"error_type":"mine"}"#;

        let written = SILENT.write(SpanWrite::Given(span(Some("secret"), meta)));
        let changed = SILENT.change(SpanChange {
            input: Some(Some(Json::of(&"secret"))),
            output: Some(None),
            error: Some(Some("secret".to_owned())),
            ..SpanChange::default()
        });

        let expected = Span {
            input: None,
            output: None,
            ..span(Some(NOT_KEPT), meta)
        };
        assert_eq!(written, SpanWrite::Given(expected));
        let expected = SpanChange {
            input: Some(None),
            output: Some(None),
            error: Some(Some(NOT_KEPT.to_owned())),
            ..SpanChange::default()
        };
        assert_eq!(changed, expected);
    }
}
