//! Spans: made, changed, rated and read by clients, and saved as examples. Those of calls are written in groups.

mod keeping;
mod kept;
mod metrics;
mod reprice;
mod saving;
mod sweep;
mod writer;

use std::sync::Arc;

use domain::{
    Feedback, Invalid, Json, JsonObject, Principal, Span, SpanChange, SpanId, SpanKind, SpanWrite,
    Timestamp, TraceId,
    seams::{Clock, Ids, Store, StoreError},
};

use crate::{
    error::{Code, Error},
    options::FeedbackOptions,
};

pub use self::metrics::{MetricChange, NewMetric};
pub use self::reprice::{Change, Repriced, Repricing};
pub(crate) use self::writer::{Committed, SpanWriter, SpanWriterTask, stopped};
pub(crate) use self::{
    keeping::Keeping,
    kept::kept,
    sweep::{Sweep, SweepTask},
};

const MAX_NAME_CHARS: usize = 1024;
const MAX_KIND_CHARS: usize = 255;
const MAX_ERROR_BYTES: usize = 64 * 1024;
const MAX_COMMENT_BYTES: usize = 8 * 1024;
/// Of `meta` as one request gives it.
const MAX_META_BYTES: usize = 64 * 1024;
/// Of `meta` after many requests, or with what a call recorded in it.
const MAX_MERGED_META_BYTES: usize = 256 * 1024;
/// The service of spans.
pub struct Spans {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn Ids>,
    keeping: Arc<Keeping>,
    options: FeedbackOptions,
}

/// A span to be made.
#[derive(Debug, Clone)]
pub struct NewSpan {
    /// Its id; a new one when absent.
    pub id: Option<SpanId>,
    /// What it is found by.
    pub name: String,
    /// What kind of step it is.
    pub kind: Option<SpanKind>,
    /// The tree that it belongs to; the parent's when absent, else a new one.
    pub trace_id: Option<TraceId>,
    /// The span above it.
    pub parent_id: Option<SpanId>,
    /// When the step began; now when absent.
    pub start_time: Option<Timestamp>,
    /// When it ended.
    pub end_time: Option<Timestamp>,
    /// What went in.
    pub input: Option<Json>,
    /// What came out.
    pub output: Option<Json>,
    /// What went wrong.
    pub error: Option<String>,
    /// Further members.
    pub meta: JsonObject,
    /// How good it was.
    pub score: Option<i64>,
}

/// What became of a rating.
#[derive(Debug, Clone, PartialEq)]
pub struct Rated {
    /// What is kept.
    pub feedback: Feedback,
    /// Whether the span was saved as an example.
    pub example_saved: bool,
}

impl Spans {
    pub(crate) fn new(
        store: &Arc<dyn Store>,
        (clock, ids): (&Arc<dyn Clock>, &Arc<dyn Ids>),
        keeping: Arc<Keeping>,
        options: FeedbackOptions,
    ) -> Self {
        Self {
            store: store.clone(),
            clock: clock.clone(),
            ids: ids.clone(),
            keeping,
            options,
        }
    }

    /// The span.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn get(&self, caller: &Principal, id: SpanId) -> Result<Span, Error> {
        self.store
            .span(caller.scope(), id)
            .await?
            .ok_or_else(missing)
    }

    /// Makes a span.
    ///
    /// # Errors
    /// `NotFound` for an unknown parent, `Conflict` for a taken id, `RequestValidation` for what does not hold.
    pub async fn create(&self, caller: &Principal, new: NewSpan) -> Result<Span, Error> {
        let scope = caller.scope();
        check_times(new.start_time, new.end_time)?;
        if meta_bytes(&new.meta) > MAX_META_BYTES {
            return Err(meta_too_long("64 KiB").into());
        }
        let above = match new.parent_id {
            None => None,
            Some(parent) => {
                let trace = self.store.trace_of(scope, parent).await?;
                Some(trace.ok_or_else(|| Error::not_found("Parent span"))?)
            }
        };
        let trace_id = new.trace_id.or(above);
        let (input, output, truncated) = kept(new.input, new.output);
        let mut meta = new.meta;
        meta.extend(truncated.then(mark));
        let span = Span {
            id: new.id.unwrap_or_else(|| self.ids.next().into()),
            project: scope.project(),
            name: new.name,
            kind: new.kind,
            trace_id: trace_id.unwrap_or_else(|| self.ids.next().into()),
            parent_id: new.parent_id,
            // A client's clock may be behind ours: what has ended has begun before.
            start_time: Some(new.start_time.unwrap_or_else(|| {
                let now = self.clock.now();
                new.end_time.map_or(now, |end| end.min(now))
            })),
            end_time: new.end_time,
            input,
            output,
            error: new.error,
            meta: Json::of(&meta),
            score: new.score,
            feedback: None,
        };
        check(&span)?;
        // Past the writer of the calls' spans: a group is committed whole or not at all, and this id may be taken.
        let write = self.keeping.write(SpanWrite::Given(span)).await?;
        let span = write.span().clone();
        match self.store.commit_spans(vec![write]).await {
            Ok(()) => Ok(span),
            Err(StoreError::Taken) => {
                let fault = format!("a span with the id `{}` already exists", span.id);
                Err(Error::text(Code::Conflict, fault))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Lays changes over a span.
    ///
    /// # Errors
    /// `NotFound`, `RequestValidation`.
    pub async fn change(
        &self,
        caller: &Principal,
        id: SpanId,
        mut change: SpanChange,
    ) -> Result<Span, Error> {
        if change.meta.as_ref().map_or(0, meta_bytes) > MAX_META_BYTES {
            return Err(meta_too_long("64 KiB").into());
        }
        check_times(change.start_time.flatten(), change.end_time.flatten())?;
        let current = self.get(caller, id).await?;
        let then = changed(current, change.clone());
        check(&then)?;
        let (input, output, truncated) = kept(then.input, then.output);
        if truncated {
            // What was there may have to make room for what is new.
            (change.input, change.output) = (Some(input), Some(output));
            change.meta.get_or_insert_default().extend([mark()]);
        }
        let change = self
            .keeping
            .change(caller.scope().project(), change)
            .await?;
        self.store
            .change_span(caller.scope(), id, change)
            .await?
            .ok_or_else(missing)
    }

    /// Forgets a span with what was added to it. Its children keep its id.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn delete(&self, caller: &Principal, id: SpanId) -> Result<(), Error> {
        let was_there = self.store.delete_span(caller.scope(), id).await?;
        was_there.then_some(()).ok_or_else(missing)
    }

    /// Sets the feedback of a span, in place of an earlier one. With `save_to_dataset` a call that went well is saved
    /// as an example of its function; without a word on that the operator's option decides.
    ///
    /// # Errors
    /// `NotFound`, `RequestValidation`.
    pub async fn rate(
        &self,
        caller: &Principal,
        id: SpanId,
        feedback: Feedback,
        save_to_dataset: Option<bool>,
    ) -> Result<Rated, Error> {
        check_feedback(&feedback)?;
        let was_there = self.store.rate_span(caller.scope(), id, &feedback).await?;
        if !was_there {
            return Err(missing());
        }
        let may_save = save_to_dataset.unwrap_or(self.options.save_to_dataset);
        let example_saved = may_save && self.save(caller, id).await?;
        Ok(Rated {
            feedback,
            example_saved,
        })
    }
}

fn missing() -> Error {
    Error::not_found("Span")
}

fn too_long(fault: &str) -> Invalid {
    Invalid::new("string_too_long", fault)
}

fn meta_too_long(limit: &str) -> Invalid {
    Invalid::new("too_long", format!("meta has at most {limit}")).at("meta")
}

fn meta_bytes(meta: &JsonObject) -> usize {
    let bytes = |(key, value): (&String, &Json)| key.len() + value.text().len() + "\"\":,".len();
    meta.iter().map(bytes).sum()
}

/// A span as it would be with the changes laid over it, to be checked as a whole.
fn changed(mut span: Span, change: SpanChange) -> Span {
    span.name = change.name.unwrap_or(span.name);
    span.kind = change.kind.unwrap_or(span.kind);
    span.start_time = change.start_time.unwrap_or(span.start_time);
    span.end_time = change.end_time.unwrap_or(span.end_time);
    span.input = change.input.unwrap_or(span.input);
    span.output = change.output.unwrap_or(span.output);
    span.error = change.error.unwrap_or(span.error);
    if let Some(members) = change.meta {
        let mut meta: JsonObject = serde_json::from_str(span.meta.text()).unwrap_or_default();
        meta.extend(members);
        span.meta = Json::of(&meta);
    }
    span
}

/// What is said of a span of which something was cut.
fn mark() -> (String, Json) {
    ("truncated".to_owned(), Json::of(&true))
}

/// Two times of one clock; a time of ours beside one of the client's says nothing.
fn check_times(start: Option<Timestamp>, end: Option<Timestamp>) -> Result<(), Invalid> {
    if let (Some(start), Some(end)) = (start, end)
        && end < start
    {
        let fault = "a span must not end before it starts";
        return Err(Invalid::new("value_error", fault).at("end_time"));
    }
    Ok(())
}

fn check(span: &Span) -> Result<(), Invalid> {
    let chars = |text: &str| text.chars().count();
    if chars(&span.name) > MAX_NAME_CHARS {
        return Err(too_long("a span's name has at most 1024 characters").at("name"));
    }
    if let Some(kind) = &span.kind
        && chars(kind.as_str()) > MAX_KIND_CHARS
    {
        return Err(too_long("a span's type has at most 255 characters").at("type"));
    }
    if span.error.as_ref().map_or(0, String::len) > MAX_ERROR_BYTES {
        return Err(too_long("an error has at most 64 KiB").at("error"));
    }
    if span.meta.text().len() > MAX_MERGED_META_BYTES {
        return Err(meta_too_long("256 KiB in all"));
    }
    Ok(())
}

fn check_feedback(feedback: &Feedback) -> Result<(), Invalid> {
    let refused = |slug, fault: &str| Err(Invalid::new(slug, fault).at("score"));
    if feedback.score.is_nan() {
        return refused("float_type", "must be a number");
    }
    if feedback.score < 0.0 {
        return refused("greater_than_equal", "must be at least 0");
    }
    if feedback.score > 1.0 {
        return refused("less_than_equal", "must be at most 1");
    }
    check_comment(feedback.comment.as_deref())
}

fn check_comment(comment: Option<&str>) -> Result<(), Invalid> {
    if comment.is_some_and(|text| text.len() > MAX_COMMENT_BYTES) {
        return Err(too_long("a comment has at most 8 KiB").at("comment"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span() -> Span {
        let id = uuid_of(1);
        Span {
            id: SpanId::parse(&id).unwrap(),
            project: domain::ProjectId::parse(&id).unwrap(),
            name: "step".to_owned(),
            kind: None,
            trace_id: TraceId::parse(&id).unwrap(),
            parent_id: None,
            start_time: Some(Timestamp::from_micros(10)),
            end_time: None,
            input: None,
            output: None,
            error: None,
            meta: Json::of(&serde_json::json!({"a": 1, "b": 2})),
            score: None,
            feedback: None,
        }
    }

    fn uuid_of(count: u32) -> String {
        format!("00000000-0000-7000-8000-{count:012}")
    }

    fn fault(change: SpanChange) -> (Vec<String>, &'static str) {
        let invalid = check(&changed(span(), change)).unwrap_err();
        (invalid.path, invalid.slug)
    }

    #[test]
    fn a_change_is_checked_as_the_span_that_it_makes() {
        let long_name = SpanChange {
            name: Some("x".repeat(MAX_NAME_CHARS + 1)),
            ..SpanChange::default()
        };

        assert_eq!(
            fault(long_name),
            (vec!["name".to_owned()], "string_too_long")
        );
    }

    #[test]
    fn two_times_of_one_clock_are_held_to_their_order() {
        let second = |count: i64| Some(Timestamp::from_micros(count * 1_000_000));

        assert!(check_times(second(2), second(1)).is_err());
        assert!(check_times(second(1), second(1)).is_ok());
        assert!(check_times(None, second(1)).is_ok());
    }

    #[test]
    fn members_of_meta_are_laid_over_one_by_one() {
        let meta = serde_json::from_str(r#"{"b":null,"c":3}"#).unwrap();
        let change = SpanChange {
            meta: Some(meta),
            ..SpanChange::default()
        };

        let changed = changed(span(), change);

        assert_eq!(changed.meta.text(), r#"{"a":1,"b":null,"c":3}"#);
        assert_eq!(check(&changed), Ok(()));
    }

    #[test]
    fn a_rating_lies_between_nothing_and_one() {
        let slug = |score: f64| {
            let feedback = Feedback {
                score,
                comment: None,
            };
            check_feedback(&feedback).map_err(|invalid| invalid.slug)
        };

        assert_eq!(slug(0.0), Ok(()));
        assert_eq!(slug(1.0), Ok(()));
        assert_eq!(slug(-0.1), Err("greater_than_equal"));
        assert_eq!(slug(1.1), Err("less_than_equal"));
        assert_eq!(slug(f64::NAN), Err("float_type"));
    }
}
