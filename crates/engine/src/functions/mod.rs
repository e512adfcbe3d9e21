//! Functions: create, read, change, delete, and the revisions in between.

mod inline;

use std::sync::Arc;

use domain::{
    Callee, Definition, Function, FunctionFilter, FunctionId, FunctionName, Invalid, Json,
    JsonObject, ModelSpec, Page, Paged, Principal, ProjectScope, Revision, RevisionId, RevisionRef,
    Settings,
    seams::{Clock, Ids, Store, StoreError},
};

use crate::{
    error::{Code, Error},
    schema::Schema,
};

pub use self::inline::Inline;

const MAX_INSTRUCTIONS_BYTES: usize = 256 * 1024;
const MAX_DESCRIPTION_BYTES: usize = 8 * 1024;

/// The service of functions.
pub struct Functions {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn Ids>,
}

/// A function to be made.
#[derive(Debug, Clone)]
pub struct NewFunction {
    /// Its name.
    pub name: FunctionName,
    /// What people say about it.
    pub description: Option<String>,
    /// The prompt.
    pub instructions: String,
    /// What inputs must satisfy.
    pub input_schema: Option<Json>,
    /// What outputs must satisfy.
    pub output_schema: Option<Json>,
    /// Who is asked.
    pub model: Option<ModelSpec>,
    /// Overrides of the settings.
    pub configuration: JsonObject,
}

/// Changes to a function. The outer `None` leaves a member as it is, the inner one clears it.
#[derive(Debug, Clone, Default)]
pub struct FunctionChange {
    /// A new name.
    pub name: Option<FunctionName>,
    /// A new description.
    pub description: Option<Option<String>>,
    /// New instructions.
    pub instructions: Option<String>,
    /// A new input schema.
    pub input_schema: Option<Option<Json>>,
    /// A new output schema.
    pub output_schema: Option<Option<Json>>,
    /// A new model.
    pub model: Option<Option<ModelSpec>>,
    /// Settings laid over the present ones key by key.
    pub configuration: Option<Option<JsonObject>>,
}

impl Functions {
    pub(crate) fn new(
        store: &Arc<dyn Store>,
        (clock, ids): (&Arc<dyn Clock>, &Arc<dyn Ids>),
    ) -> Self {
        Self {
            store: store.clone(),
            clock: clock.clone(),
            ids: ids.clone(),
        }
    }

    /// Creates a function with its first revision and its dataset.
    ///
    /// # Errors
    /// `Conflict` for a taken name, `RequestValidation` for a schema or setting that does not hold.
    pub async fn create(&self, caller: &Principal, new: NewFunction) -> Result<Callee, Error> {
        check_description(new.description.as_deref())?;
        let definition = Definition {
            instructions: new.instructions,
            input_schema: new.input_schema,
            output_schema: new.output_schema,
            model: new.model,
            configuration: Settings::parse(new.configuration)
                .map_err(|invalid| invalid.at("configuration"))?,
        };
        check_definition(&definition).await?;
        let revision = self.revision_of(self.ids.next().into(), definition);
        let function = Function {
            id: revision.function_id,
            project: caller.scope().project(),
            name: new.name,
            description: new.description,
            dataset_version: 0,
            dataset_id: self.ids.next().into(),
            revision_id: revision.id,
            version: 1,
            created_at: revision.created_at,
        };
        match self.store.insert_function(&function, &revision).await {
            Ok(()) => Ok(Callee { function, revision }),
            Err(StoreError::Taken) => Err(name_taken(&function.name)),
            Err(error) => Err(error.into()),
        }
    }

    /// The function with its latest revision.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn get(&self, caller: &Principal, id: FunctionId) -> Result<Callee, Error> {
        self.callee(
            caller.scope(),
            RevisionRef {
                function: id,
                revision: None,
            },
        )
        .await
    }

    /// The function of that name with its latest revision.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn get_by_name(&self, caller: &Principal, name: &str) -> Result<Callee, Error> {
        let missing = || Error::not_found("Function");
        let name = FunctionName::parse(name).map_err(|_| missing())?;
        let function = self
            .store
            .function_by_name(caller.scope(), &name)
            .await?
            .ok_or_else(missing)?;
        self.get(caller, function.id).await
    }

    /// The functions of the project.
    ///
    /// # Errors
    /// `ServiceUnavailable`.
    pub async fn list(
        &self,
        caller: &Principal,
        filter: &FunctionFilter,
        page: Page,
    ) -> Result<Paged<Callee>, Error> {
        let found = self.store.functions(caller.scope(), filter, page).await?;
        Ok(found.map(|(function, revision)| Callee { function, revision }))
    }

    /// Changes a function. A change of what a revision fixes makes a new one.
    ///
    /// # Errors
    /// `NotFound`, `Conflict`, `RequestValidation`.
    pub async fn change(
        &self,
        caller: &Principal,
        id: FunctionId,
        change: &FunctionChange,
    ) -> Result<Callee, Error> {
        check_description(change.description.as_ref().and_then(Option::as_deref))?;
        loop {
            let current = self.get(caller, id).await?;
            let changed = self.apply(&current, change).await?;
            if changed == current {
                return Ok(current);
            }
            let new_revision =
                (changed.revision.id != current.revision.id).then_some(&changed.revision);
            match self
                .store
                .update_function(&changed.function, new_revision)
                .await
            {
                Ok(()) => return Ok(changed),
                // Somebody else was first: look again. Each round means that another writer got through.
                Err(StoreError::Stale) => {}
                Err(StoreError::Taken) => return Err(name_taken(&changed.function.name)),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Forgets a function and its revisions.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn delete(&self, caller: &Principal, id: FunctionId) -> Result<(), Error> {
        let was_there = self.store.delete_function(caller.scope(), id).await?;
        was_there
            .then_some(())
            .ok_or_else(|| Error::not_found("Function"))
    }

    /// The revisions of a function, newest first.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn revisions(
        &self,
        caller: &Principal,
        id: FunctionId,
        page: Page,
    ) -> Result<Paged<Revision>, Error> {
        let scope = caller.scope();
        self.store
            .function(scope, id)
            .await?
            .ok_or_else(|| Error::not_found("Function"))?;
        Ok(self.store.revisions(scope, id, page).await?)
    }

    /// The function as of one revision.
    ///
    /// # Errors
    /// `NotFound`, also when the revision belongs to another function.
    pub async fn at_revision(
        &self,
        caller: &Principal,
        function: FunctionId,
        revision: RevisionId,
    ) -> Result<Callee, Error> {
        self.callee(
            caller.scope(),
            RevisionRef {
                function,
                revision: Some(revision),
            },
        )
        .await
    }

    async fn callee(&self, scope: ProjectScope, which: RevisionRef) -> Result<Callee, Error> {
        let missing = || Error::not_found("Function");
        let function = self
            .store
            .function(scope, which.function)
            .await?
            .ok_or_else(missing)?;
        let revision_id = which.revision.unwrap_or(function.revision_id);
        match self.store.revision(scope, function.id, revision_id).await? {
            Some(revision) => Ok(Callee { function, revision }),
            None if which.revision.is_some() => Err(Error::not_found("Function revision")),
            // Deleted between the two looks.
            None => Err(missing()),
        }
    }

    async fn apply(&self, current: &Callee, change: &FunctionChange) -> Result<Callee, Error> {
        let old = &current.revision.definition;
        let configuration = match &change.configuration {
            None => old.configuration.clone(),
            Some(None) => Settings::default(),
            Some(Some(changes)) => old
                .configuration
                .merged(changes.clone())
                .map_err(|invalid| invalid.at("configuration"))?,
        };
        let definition = Definition {
            instructions: change
                .instructions
                .clone()
                .unwrap_or_else(|| old.instructions.clone()),
            input_schema: change
                .input_schema
                .clone()
                .unwrap_or_else(|| old.input_schema.clone()),
            output_schema: change
                .output_schema
                .clone()
                .unwrap_or_else(|| old.output_schema.clone()),
            model: change.model.clone().unwrap_or_else(|| old.model.clone()),
            configuration,
        };
        let mut function = current.function.clone();
        function.name = change.name.clone().unwrap_or(function.name);
        function.description = change.description.clone().unwrap_or(function.description);
        let mut revision = current.revision.clone();
        if definition != *old {
            check_definition(&definition).await?;
            revision = self.revision_of(function.id, definition);
            function.revision_id = revision.id;
        }
        if function != current.function {
            function.version += 1;
        }
        Ok(Callee { function, revision })
    }

    fn revision_of(&self, function_id: FunctionId, definition: Definition) -> Revision {
        Revision {
            id: self.ids.next().into(),
            function_id,
            definition,
            created_at: self.clock.now(),
        }
    }
}

fn name_taken(name: &FunctionName) -> Error {
    Error::text(
        Code::Conflict,
        format!("a function named `{name}` already exists"),
    )
}

fn check_description(description: Option<&str>) -> Result<(), Invalid> {
    if description.is_some_and(|text| text.len() > MAX_DESCRIPTION_BYTES) {
        return Err(
            Invalid::new("string_too_long", "a description has at most 8 KiB").at("description"),
        );
    }
    Ok(())
}

async fn check_definition(definition: &Definition) -> Result<(), Error> {
    if definition.instructions.len() > MAX_INSTRUCTIONS_BYTES {
        return Err(
            Invalid::new("string_too_long", "instructions have at most 256 KiB")
                .at("instructions")
                .into(),
        );
    }
    let schemas = [
        ("input_schema", &definition.input_schema),
        ("output_schema", &definition.output_schema),
    ];
    for (member, schema) in schemas {
        if let Some(schema) = schema {
            let schema = schema.clone();
            // Compiling may take longer than a worker should be held.
            let compiled = tokio::task::spawn_blocking(move || Schema::compile(&schema).map(drop));
            compiled
                .await
                .map_err(Error::internal)?
                .map_err(|invalid| invalid.at(member))?;
        }
    }
    Ok(())
}
