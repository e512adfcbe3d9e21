//! Metrics: measurements that clients add to spans.

use domain::{Invalid, Metric, MetricId, Page, Paged, Principal, SpanId};

use crate::error::Error;

use super::{Spans, check_comment, missing, too_long};

const MAX_DIMENSION_CHARS: usize = 255;

/// A metric to be added.
#[derive(Debug, Clone, PartialEq)]
pub struct NewMetric {
    /// What was measured.
    pub dimension: String,
    /// How much.
    pub value: f64,
    /// In words.
    pub comment: Option<String>,
}

/// Changes to a metric. Absent members stay as they are, `Some(None)` clears.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MetricChange {
    /// What was measured.
    pub dimension: Option<String>,
    /// How much.
    pub value: Option<f64>,
    /// In words.
    pub comment: Option<Option<String>>,
}

impl Spans {
    /// Adds a metric to a span. Several may share a dimension.
    ///
    /// # Errors
    /// `NotFound`, `RequestValidation`.
    pub async fn add_metric(
        &self,
        caller: &Principal,
        span: SpanId,
        new: NewMetric,
    ) -> Result<Metric, Error> {
        let metric = Metric {
            id: self.ids.next().into(),
            span_id: span,
            dimension: new.dimension,
            value: new.value,
            comment: new.comment,
            created_at: self.clock.now(),
        };
        check(&metric)?;
        let was_there = self.store.insert_metric(caller.scope(), &metric).await?;
        was_there.then_some(metric).ok_or_else(missing)
    }

    /// The metrics of a span, oldest first.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn metrics(
        &self,
        caller: &Principal,
        span: SpanId,
        page: Page,
    ) -> Result<Paged<Metric>, Error> {
        let metrics = self.store.metrics(caller.scope(), span, page).await?;
        if metrics.total == 0 && !self.is_there(caller, span).await? {
            return Err(missing());
        }
        Ok(metrics)
    }

    /// One metric of a span.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn metric(
        &self,
        caller: &Principal,
        span: SpanId,
        id: MetricId,
    ) -> Result<Metric, Error> {
        match self.store.metric(caller.scope(), span, id).await? {
            Some(metric) => Ok(metric),
            None => Err(self.missing_metric(caller, span).await?),
        }
    }

    /// Changes a metric.
    ///
    /// # Errors
    /// `NotFound`, `RequestValidation`.
    pub async fn change_metric(
        &self,
        caller: &Principal,
        span: SpanId,
        id: MetricId,
        change: MetricChange,
    ) -> Result<Metric, Error> {
        let mut metric = self.metric(caller, span, id).await?;
        metric.dimension = change.dimension.unwrap_or(metric.dimension);
        metric.value = change.value.unwrap_or(metric.value);
        metric.comment = change.comment.unwrap_or(metric.comment);
        check(&metric)?;
        if self.store.update_metric(caller.scope(), &metric).await? {
            return Ok(metric);
        }
        Err(self.missing_metric(caller, span).await?)
    }

    /// Forgets a metric.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn delete_metric(
        &self,
        caller: &Principal,
        span: SpanId,
        id: MetricId,
    ) -> Result<(), Error> {
        if self.store.delete_metric(caller.scope(), span, id).await? {
            return Ok(());
        }
        Err(self.missing_metric(caller, span).await?)
    }

    async fn is_there(&self, caller: &Principal, span: SpanId) -> Result<bool, Error> {
        Ok(self.store.trace_of(caller.scope(), span).await?.is_some())
    }

    /// Which of the two is not there.
    async fn missing_metric(&self, caller: &Principal, span: SpanId) -> Result<Error, Error> {
        Ok(if self.is_there(caller, span).await? {
            Error::not_found("Metric")
        } else {
            missing()
        })
    }
}

fn check(metric: &Metric) -> Result<(), Invalid> {
    if metric.dimension.is_empty() {
        let fault = "a metric's dimension must not be empty";
        return Err(Invalid::new("string_too_short", fault).at("dimension"));
    }
    if metric.dimension.chars().count() > MAX_DIMENSION_CHARS {
        return Err(too_long("a metric's dimension has at most 255 characters").at("dimension"));
    }
    if !metric.value.is_finite() {
        return Err(Invalid::new("float_type", "must be a finite number").at("value"));
    }
    check_comment(metric.comment.as_deref())
}
