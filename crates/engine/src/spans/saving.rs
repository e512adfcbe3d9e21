//! Spans saved as examples: a call that went well becomes an entry of its own function's dataset.
//!
//! The function is the one that the span's `meta` names. With the function its way to the dataset is gone: spans of a
//! deleted function are not saved.

use std::collections::HashMap;

use domain::{DatasetId, Entry, FunctionId, Json, Principal, ProjectScope, Span, SpanId, SpanKind};
use serde::Deserialize;

use crate::{
    datasets,
    error::{Code, Error},
};

use super::{Spans, missing};

/// How many spans one request looks through.
const MAX_SPANS: u64 = 256;

/// What a saved span must have.
#[derive(Debug, PartialEq, Eq)]
struct Saveable {
    function: FunctionId,
    input: Json,
    output: Json,
}

impl Spans {
    /// Saves every call that went well, at or below a span, to its own function's dataset, and gives the last saved.
    ///
    /// # Errors
    /// `NotFound` for an unknown span, `BadRequest` if there is nothing to save or too much.
    pub async fn save_examples(&self, caller: &Principal, id: SpanId) -> Result<Entry, Error> {
        let scope = caller.scope();
        let spans = self.store.spans_below(scope, id, MAX_SPANS + 1).await?;
        if spans.is_empty() {
            return Err(missing());
        }
        if spans.len() as u64 > MAX_SPANS {
            let fault = format!("more than {MAX_SPANS} spans are at or below this one");
            return Err(Error::text(Code::BadRequest, fault));
        }
        let (mut datasets, mut last) = (HashMap::new(), None);
        for saveable in spans.into_iter().filter_map(saveable) {
            let function = saveable.function;
            let dataset = if let Some(known) = datasets.get(&function) {
                *known
            } else {
                let found = self.dataset_of(scope, function).await?;
                datasets.insert(function, found);
                found
            };
            if let Some(dataset) = dataset {
                last = self.insert(scope, dataset, saveable).await?.or(last);
            }
        }
        last.ok_or_else(|| {
            let fault = "no generation span with an output, of a function that still exists, is at or below this span";
            Error::text(Code::BadRequest, fault)
        })
    }

    /// Saves one span, if it can be. Says whether it was.
    pub(super) async fn save(&self, caller: &Principal, id: SpanId) -> Result<bool, Error> {
        let scope = caller.scope();
        let Some(saveable) = self.store.span(scope, id).await?.and_then(saveable) else {
            return Ok(false);
        };
        let Some(dataset) = self.dataset_of(scope, saveable.function).await? else {
            return Ok(false);
        };
        Ok(self.insert(scope, dataset, saveable).await?.is_some())
    }

    async fn dataset_of(
        &self,
        scope: ProjectScope,
        function: FunctionId,
    ) -> Result<Option<DatasetId>, Error> {
        let function = self.store.function(scope, function).await?;
        Ok(function.map(|function| function.dataset_id))
    }

    async fn insert(
        &self,
        scope: ProjectScope,
        dataset: DatasetId,
        saveable: Saveable,
    ) -> Result<Option<Entry>, Error> {
        let entry = Entry {
            id: self.ids.next().into(),
            dataset_id: dataset,
            input: saveable.input,
            output: saveable.output,
            expected: None,
            comment: None,
            created_at: self.clock.now(),
        };
        let was_kept = self.store.insert_entry(scope, &entry).await?;
        Ok(was_kept.then_some(entry))
    }
}

/// What can be saved of a span: a call's input and output, both whole, as long as an entry may have them.
fn saveable(span: Span) -> Option<Saveable> {
    #[derive(Deserialize)]
    struct Meta {
        function_id: FunctionId,
        #[serde(default)]
        truncated: bool,
    }
    if span.kind != Some(SpanKind::GENERATION) || span.error.is_some() {
        return None;
    }
    let meta: Meta = serde_json::from_str(span.meta.text()).ok()?;
    let input = span.input.unwrap_or_else(Json::null);
    let output = span.output?;
    let fits = |value: &Json| value.text().len() <= datasets::MAX_VALUE_BYTES;
    (!meta.truncated && fits(&input) && fits(&output)).then_some(Saveable {
        function: meta.function_id,
        input,
        output,
    })
}

#[cfg(test)]
mod tests {
    use domain::{ProjectId, TraceId};
    use serde_json::{Value, json};

    use super::*;

    const ID: &str = "00000000-0000-7000-8000-000000000001";

    fn call(meta: &Value) -> Span {
        Span {
            id: SpanId::parse(ID).unwrap(),
            project: ProjectId::parse(ID).unwrap(),
            name: "greet".to_owned(),
            kind: Some(SpanKind::GENERATION),
            trace_id: TraceId::parse(ID).unwrap(),
            parent_id: None,
            start_time: None,
            end_time: None,
            input: None,
            output: Some(Json::of(&"hello")),
            error: None,
            meta: Json::from_value(meta),
            score: None,
            feedback: None,
        }
    }

    #[test]
    fn a_call_that_went_well_can_be_saved() {
        let saveable = saveable(call(&json!({"function_id": ID, "tags": {}})));

        let expected = Saveable {
            function: FunctionId::parse(ID).unwrap(),
            input: Json::null(),
            output: Json::of(&"hello"),
        };
        assert_eq!(saveable, Some(expected));
    }

    #[test]
    fn what_failed_was_cut_or_is_no_call_cannot() {
        let meta = json!({"function_id": ID});
        let mut failed = call(&meta);
        failed.error = Some("UpstreamError: no".to_owned());
        let mut unanswered = call(&meta);
        unanswered.output = None;
        let mut another = call(&meta);
        another.kind = Some(SpanKind::EMBEDDING);
        let mut long = call(&meta);
        long.output = Some(Json::of(&"x".repeat(datasets::MAX_VALUE_BYTES)));
        let cut = call(&json!({"function_id": ID, "truncated": true}));
        let observer = call(&json!({"purpose": "observer"}));

        for span in [failed, unanswered, another, long, cut, observer] {
            assert_eq!(saveable(span.clone()), None, "{span:?}");
        }
    }
}
