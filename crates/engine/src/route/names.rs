//! Names: from what a client asks for, along the aliases, to the models that are meant.

use domain::{AliasId, CustomModel, ModelChoice, ModelName, Named, ProjectScope, seams::Store};

use crate::error::{CallDetail, Code, Error};

/// How many aliases may stand inside each other (`interface.md` 5.2).
const MAX_DEPTH: usize = 5;
/// How many models a call may name, counted behind its aliases.
const MAX_STOPS: usize = 64;

/// A model that is meant, with what is sent along to it.
pub(super) struct Meant {
    /// Asked for under this name; its options and headers are those of the name that led here.
    pub(super) choice: ModelChoice,
    /// What the project registered under the name, if anything.
    pub(super) model: Option<CustomModel>,
}

/// A name that is still to be looked up.
struct Ahead<'a> {
    choice: &'a ModelChoice,
    name: ModelName,
    /// The aliases that led here, the outermost first.
    through: Vec<(AliasId, String)>,
}

/// What the choices mean, in order: each alias gives way to its list, with its own options and headers for each model.
///
/// # Errors
/// `BadRequest` if an alias leads back to itself, or to too many others inside each other, or all together to too many
/// models.
pub(super) async fn meant(
    store: &dyn Store,
    scope: ProjectScope,
    choices: &[ModelChoice],
) -> Result<Vec<Meant>, Error> {
    let first = choices.iter().rev().map(|choice| Ahead {
        choice,
        name: choice.name.clone(),
        through: Vec::new(),
    });
    let mut ahead: Vec<_> = first.collect();
    let mut meant = Vec::with_capacity(choices.len());
    while let Some(next) = ahead.pop() {
        let alias = match store.named(scope, &next.name).await? {
            Some(Named::Alias(alias)) => alias,
            Some(Named::Model(model)) => {
                meant.push(next.meant(Some(model)));
                continue;
            }
            None => {
                meant.push(next.meant(None));
                continue;
            }
        };
        let mut through = next.through;
        let is_circle = through.iter().any(|(id, _)| *id == alias.id);
        through.push((alias.id, alias.name));
        if is_circle {
            return Err(refused("aliases lead in a circle", &through));
        }
        if through.len() > MAX_DEPTH {
            let why = format!("more than {MAX_DEPTH} aliases stand inside each other");
            return Err(refused(&why, &through));
        }
        let list = alias.fallback_models.into_iter().rev();
        ahead.extend(list.map(|name| Ahead {
            choice: next.choice,
            name,
            through: through.clone(),
        }));
        // Every name that is ahead leads to one model at least.
        if meant.len() + ahead.len() > MAX_STOPS {
            let why = format!("aliases lead to more than {MAX_STOPS} models");
            return Err(refused(&why, &through));
        }
    }
    Ok(meant)
}

impl Ahead<'_> {
    fn meant(self, model: Option<CustomModel>) -> Meant {
        let choice = ModelChoice {
            name: self.name,
            ..self.choice.clone()
        };
        Meant { choice, model }
    }
}

fn refused(why: &str, through: &[(AliasId, String)]) -> Error {
    let way: Vec<_> = through
        .iter()
        .map(|(_, name)| format!("`{name}`"))
        .collect();
    let reason = format!("{why}: {}", way.join(" -> "));
    Error::call(Code::BadRequest, CallDetail::because(reason))
}
