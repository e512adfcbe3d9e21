//! Opening a call: its function and revision with compiled schemas, or its conversation; its place in a trace.

use std::{sync::Arc, time::Instant};

use domain::{
    CallRequest, Function, Invalid, Json, JsonObject, ModelChoice, ModelSpec, Principal,
    ProjectScope, Revision, RevisionId, RevisionRef, Rung, Settings, SpanId, Tags, Timestamp,
    TraceId,
    seams::{Clock, Ids, Store},
};
use moka::sync::Cache;

use crate::{
    error::{Code, Error},
    schema::Schema,
};

use super::{
    output::Wanted,
    prompt::schema_name,
    task::{ChatCall, ChatTask, FunctionTask, Task},
};

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
    pub(super) task: Task,
    pub(super) tags: Tags,
    pub(super) parent_span_id: Option<SpanId>,
    pub(super) span_id: SpanId,
    pub(super) trace_id: TraceId,
    pub(super) started: Timestamp,
    pub(super) began: Instant,
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
        let task = FunctionTask {
            function,
            callee,
            input: request.input,
            examples: request.examples,
        };
        Ok(Call {
            scope,
            task: Task::Function(Box::new(task)),
            tags: request.tags,
            parent_span_id: request.parent_span_id,
            span_id: self.ids.next().into(),
            trace_id,
            started,
            began,
        })
    }

    /// A conversation, which `default` is asked to continue when nobody is named.
    pub(super) async fn open_chat(
        &self,
        caller: &Principal,
        chat: ChatCall,
        default: &ModelSpec,
    ) -> Result<Call, Error> {
        let (began, started) = (Instant::now(), self.clock.now());
        let scope = caller.scope();
        let trace_id = self.trace(scope, chat.parent_span_id).await?;
        let ttl = Json::of(&chat.cache_ttl.as_secs());
        let settings = [(Settings::CACHE_TTL.to_owned(), ttl)]
            .into_iter()
            .collect();
        let mut request = chat.request;
        let (mut wanted, mut firmest) = (Wanted::Text, Rung::NativeSchema);
        if let Some(demand) = &mut request.demand {
            demand.name = schema_name(&demand.name);
            firmest = demand.rung;
            let shape = demand.schema.clone();
            let compiling = tokio::task::spawn_blocking(move || Wanted::json(&shape));
            wanted = compiling
                .await
                .map_err(Error::internal)?
                .map_err(|invalid| invalid.at("schema").at("json_schema").at("response_format"))?;
        }
        let task = ChatTask {
            request: Arc::new(request),
            model: spec(
                chat.model.as_ref().unwrap_or(default),
                chat.fallbacks,
                &chat.options,
            ),
            settings: Settings::parse(settings)?,
            wanted,
            firmest,
            unread: chat.unread,
        };
        Ok(Call {
            scope,
            task: Task::Chat(Box::new(task)),
            tags: chat.tags,
            parent_span_id: chat.parent_span_id,
            span_id: self.ids.next().into(),
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
        trace((&*self.store, &*self.ids), scope, parent).await
    }
}

/// The trace of a span below `parent`, or a new one.
pub(super) async fn trace(
    (store, ids): (&dyn Store, &dyn Ids),
    scope: ProjectScope,
    parent: Option<SpanId>,
) -> Result<TraceId, Error> {
    let Some(parent) = parent else {
        return Ok(ids.next().into());
    };
    let trace = store.trace_of(scope, parent).await?;
    trace.ok_or_else(|| Error::not_found("Parent span"))
}

/// Everybody who may be asked, with `options` over the own ones of each.
pub(crate) fn spec(first: &ModelSpec, others: Vec<ModelChoice>, options: &JsonObject) -> ModelSpec {
    let choices = first.choices().iter().cloned().chain(others);
    let with_options = |mut choice: ModelChoice| {
        choice.options.extend(options.clone());
        choice
    };
    ModelSpec::Fallbacks(choices.map(with_options).collect())
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
            Some(shape) => Wanted::json(shape).map_err(|invalid| refused(&invalid))?,
        };
        Ok(Self {
            revision,
            input_schema,
            wanted,
        })
    }
}
