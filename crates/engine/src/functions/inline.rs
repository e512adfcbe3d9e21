//! Functions defined by those who call them (`interface.md` 3.5): made on first use of a name, and given another
//! revision by whoever calls the name with something else.

use domain::{
    Definition, Function, FunctionName, Json, JsonObject, ModelSpec, Principal, RevisionRef,
    Settings, seams::StoreError,
};

use crate::error::{Code, Error};

use super::{Functions, NewFunction, check_definition};

const DEFAULT_INSTRUCTIONS: &str = "You are a helpful assistant";
/// How often others may get in between. Each round means that somebody else got through.
const ROUNDS: usize = 64;

/// A definition that comes with a call. Absent members are those of the latest revision.
#[derive(Debug, Clone)]
pub struct Inline {
    /// The function's name.
    pub name: FunctionName,
    /// The prompt.
    pub instructions: Option<String>,
    /// What inputs must satisfy.
    pub input_schema: Option<Json>,
    /// What outputs must satisfy.
    pub output_schema: Option<Json>,
    /// Who is asked.
    pub model: Option<ModelSpec>,
    /// Settings laid over the latest revision's key by key.
    pub configuration: JsonObject,
}

impl Functions {
    /// The revision that an inline definition comes to: the function is made if nobody has the name, and a definition
    /// that no revision of it has becomes the latest one.
    ///
    /// # Errors
    /// `RequestValidation` for a schema or setting that does not hold.
    pub async fn ensure(&self, caller: &Principal, inline: Inline) -> Result<RevisionRef, Error> {
        for _ in 0..ROUNDS {
            if let Some(found) = self.look(caller, &inline).await? {
                return Ok(found);
            }
        }
        Err(Error::unavailable("overloaded"))
    }

    /// One look; `None` if somebody else changed the function in the meantime.
    async fn look(
        &self,
        caller: &Principal,
        inline: &Inline,
    ) -> Result<Option<RevisionRef>, Error> {
        let scope = caller.scope();
        let found = self.store.function_by_name(scope, &inline.name).await?;
        let Some(function) = found else {
            return self.make(caller, inline.clone()).await;
        };
        let latest = self
            .store
            .revision(scope, function.id, function.revision_id);
        let Some(latest) = latest.await? else {
            return Ok(None);
        };
        let definition = inline.over(&latest.definition)?;
        let pinned = |revision| RevisionRef {
            function: function.id,
            revision: Some(revision),
        };
        if definition == latest.definition {
            return Ok(Some(pinned(latest.id)));
        }
        let equal = self.store.revision_with(scope, function.id, &definition);
        if let Some(equal) = equal.await? {
            return Ok(Some(pinned(equal.id)));
        }
        check_definition(&definition).await?;
        let revision = self.revision_of(function.id, definition);
        let changed = Function {
            revision_id: revision.id,
            version: function.version + 1,
            ..function.clone()
        };
        match self.store.update_function(&changed, Some(&revision)).await {
            Ok(()) => Ok(Some(pinned(revision.id))),
            Err(StoreError::Stale | StoreError::Taken) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    async fn make(&self, caller: &Principal, inline: Inline) -> Result<Option<RevisionRef>, Error> {
        match self.create(caller, inline.into_new()).await {
            Ok(made) => Ok(Some(RevisionRef {
                function: made.function.id,
                revision: Some(made.revision.id),
            })),
            Err(error) if error.code == Code::Conflict => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Inline {
    fn into_new(self) -> NewFunction {
        let instructions = self.instructions;
        NewFunction {
            name: self.name,
            description: None,
            instructions: instructions.unwrap_or_else(|| DEFAULT_INSTRUCTIONS.to_owned()),
            input_schema: self.input_schema,
            output_schema: self.output_schema,
            model: self.model,
            configuration: self.configuration,
        }
    }

    fn over(&self, latest: &Definition) -> Result<Definition, Error> {
        let configuration = if self.configuration.is_empty() {
            latest.configuration.clone()
        } else {
            self.configuration_over(&latest.configuration)?
        };
        let given = self.instructions.as_ref();
        Ok(Definition {
            instructions: given.unwrap_or(&latest.instructions).clone(),
            input_schema: self
                .input_schema
                .clone()
                .or_else(|| latest.input_schema.clone()),
            output_schema: self
                .output_schema
                .clone()
                .or_else(|| latest.output_schema.clone()),
            model: self.model.clone().or_else(|| latest.model.clone()),
            configuration,
        })
    }

    fn configuration_over(&self, latest: &Settings) -> Result<Settings, Error> {
        let merged = latest.merged(self.configuration.clone());
        merged.map_err(|invalid| invalid.at("configuration").into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: &str) -> JsonObject {
        serde_json::from_str(text).unwrap()
    }

    fn inline() -> Inline {
        Inline {
            name: FunctionName::parse("greet").unwrap(),
            instructions: None,
            input_schema: None,
            output_schema: None,
            model: None,
            configuration: JsonObject::new(),
        }
    }

    fn latest() -> Definition {
        Definition {
            instructions: "Greet.".to_owned(),
            input_schema: Some(Json::parse("{}").unwrap()),
            output_schema: None,
            model: None,
            configuration: Settings::parse(settings(r#"{"invocation.cache.ttl":1,"x":1}"#))
                .unwrap(),
        }
    }

    #[test]
    fn absent_members_are_those_of_the_latest_revision() {
        assert_eq!(inline().over(&latest()).unwrap(), latest());
    }

    #[test]
    fn given_members_replace_and_settings_merge() {
        let given = Inline {
            instructions: Some(String::new()),
            output_schema: Some(Json::parse("{}").unwrap()),
            configuration: settings(r#"{"invocation.cache.ttl":2,"x":null}"#),
            ..inline()
        };

        let merged = given.over(&latest()).unwrap();

        let expected = Definition {
            instructions: String::new(),
            output_schema: Some(Json::parse("{}").unwrap()),
            configuration: Settings::parse(settings(r#"{"invocation.cache.ttl":2}"#)).unwrap(),
            ..latest()
        };
        assert_eq!(merged, expected);
    }

    #[test]
    fn a_setting_that_does_not_hold_is_named() {
        let given = Inline {
            configuration: settings(r#"{"invocation.cache.ttl":-1}"#),
            ..inline()
        };

        let refused = given.over(&latest()).unwrap_err();

        let expected = domain::Invalid::new("greater_than_equal", "must be at least 0")
            .at("invocation.cache.ttl")
            .at("configuration");
        assert_eq!(refused.detail, Error::invalid(&expected).detail);
    }

    #[test]
    fn a_name_used_for_the_first_time_gets_instructions() {
        assert_eq!(inline().into_new().instructions, DEFAULT_INSTRUCTIONS);
    }
}
