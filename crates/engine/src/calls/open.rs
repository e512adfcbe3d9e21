//! Opening a call: its function, its revision with compiled schemas, its place in a trace.

use std::{sync::Arc, time::Instant};

use domain::{
    CallRequest, Definition, Function, Invalid, Principal, ProjectScope, Revision, RevisionId,
    RevisionRef, SpanId, Timestamp, TraceId,
    seams::{Clock, Ids, Store},
};
use moka::sync::Cache;

use crate::{
    error::{Code, Error},
    schema::Schema,
};

use super::{output::Wanted, pieces::Begins};

/// How many bytes of compiled revisions are remembered, roughly. A revision never changes, so none of them goes stale.
const REMEMBERED_BYTES: u64 = 256 * 1024 * 1024;
/// What a revision weighs beside its schemas.
const BARE_BYTES: u32 = 4 * 1024;

/// Opens calls.
pub(super) struct Opening {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    ids: Arc<dyn Ids>,
    compiled: Cache<RevisionId, Arc<Compiled>>,
}

/// A revision with its schemas, ready to run.
pub(super) struct Compiled {
    pub(super) revision: Revision,
    pub(super) input_schema: Option<Arc<Schema>>,
    /// What answers have to be.
    pub(super) wanted: Wanted,
}

/// A call under way.
pub(super) struct Call {
    pub(super) scope: ProjectScope,
    pub(super) function: Function,
    pub(super) callee: Arc<Compiled>,
    pub(super) request: CallRequest,
    pub(super) span_id: SpanId,
    pub(super) trace_id: TraceId,
    pub(super) started: Timestamp,
    pub(super) began: Instant,
}

impl Call {
    pub(super) fn definition(&self) -> &Definition {
        &self.callee.revision.definition
    }
}

impl Opening {
    pub(super) fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>, ids: Arc<dyn Ids>) -> Self {
        Self {
            store,
            clock,
            ids,
            compiled: Cache::builder()
                .weigher(|_, compiled: &Arc<Compiled>| compiled.weight())
                .max_capacity(REMEMBERED_BYTES)
                .build(),
        }
    }

    /// Function, then revision, then parent span: the order of `interface.md` 3.4.
    pub(super) async fn open(
        &self,
        caller: &Principal,
        which: RevisionRef,
        request: CallRequest,
    ) -> Result<Call, Error> {
        let (began, started) = (Instant::now(), self.clock.now());
        let scope = caller.scope();
        let function = self.store.function(scope, which.function).await?;
        let function = function.ok_or_else(|| Error::not_found("Function"))?;
        let callee = self
            .callee(
                scope,
                &function,
                which.revision.unwrap_or(function.revision_id),
            )
            .await?;
        let trace_id = self.trace(scope, request.parent_span_id).await?;
        let span_id = self.ids.next().into();
        Ok(Call {
            scope,
            function,
            callee,
            request,
            span_id,
            trace_id,
            started,
            began,
        })
    }

    async fn callee(
        &self,
        scope: ProjectScope,
        function: &Function,
        id: RevisionId,
    ) -> Result<Arc<Compiled>, Error> {
        let missing = || Error::not_found("Function revision");
        if let Some(known) = self.compiled.get(&id) {
            return (known.revision.function_id == function.id)
                .then_some(known)
                .ok_or_else(missing);
        }
        let revision = self
            .store
            .revision(scope, function.id, id)
            .await?
            .ok_or_else(missing)?;
        let compiling = tokio::task::spawn_blocking(move || Compiled::new(revision));
        let compiled = Arc::new(compiling.await.map_err(Error::internal)??);
        self.compiled.insert(id, compiled.clone());
        Ok(compiled)
    }

    async fn trace(&self, scope: ProjectScope, parent: Option<SpanId>) -> Result<TraceId, Error> {
        let Some(parent) = parent else {
            return Ok(self.ids.next().into());
        };
        let trace = self.store.trace_of(scope, parent).await?;
        trace.ok_or_else(|| Error::not_found("Parent span"))
    }
}

/// A stored schema that is no longer taken (`reliability.md` 9).
fn refused(invalid: &Invalid) -> Error {
    let reason = format!(
        "a stored schema of the function cannot be used: {}",
        invalid.message
    );
    Error::text(Code::BadRequest, reason)
}

impl Compiled {
    /// Roughly how many bytes it takes.
    fn weight(&self) -> u32 {
        let instructions =
            u32::try_from(self.revision.definition.instructions.len()).unwrap_or(u32::MAX);
        let schemas = self.input_schema.iter().chain(self.wanted.schema());
        let schemas = schemas.fold(0, |sum: u32, schema| sum.saturating_add(schema.weight()));
        BARE_BYTES
            .saturating_add(instructions)
            .saturating_add(schemas)
    }

    fn new(revision: Revision) -> Result<Self, Error> {
        let compile = |schema| {
            Schema::compile(schema)
                .map(Arc::new)
                .map_err(|invalid| refused(&invalid))
        };
        let definition = &revision.definition;
        let checks_input = definition.configuration.input_validation();
        let input_schema = definition
            .input_schema
            .as_ref()
            .filter(|_| checks_input)
            .map(compile)
            .transpose()?;
        let wanted = match &definition.output_schema {
            None => Wanted::Text,
            Some(shape) if definition.configuration.xml_mode() => Wanted::Xml {
                schema: compile(shape)?,
                shape: shape.clone(),
            },
            Some(shape) => Wanted::Json {
                schema: compile(shape)?,
                begins: Begins::of(&shape.to_value()),
            },
        };
        Ok(Self {
            revision,
            input_schema,
            wanted,
        })
    }
}
