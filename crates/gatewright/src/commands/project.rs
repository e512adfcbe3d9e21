//! `gatewright project`: the owners of functions, models and spans.

use anyhow::bail;
use domain::{
    Project, ProjectName,
    seams::{Clock, Ids, RandomIds, Store, StoreError, SystemClock},
};

use crate::commands::{print, table};

/// Creates a project.
pub(super) async fn create(store: &dyn Store, name: ProjectName) -> anyhow::Result<()> {
    let project = Project {
        id: RandomIds.next().into(),
        name,
        created_at: SystemClock.now(),
    };
    match store.insert_project(&project).await {
        Ok(()) => print(&[format!("created project `{}`", project.name)]),
        Err(StoreError::Taken) => bail!("the project `{}` exists already", project.name),
        Err(fault) => Err(fault.into()),
    }
}

/// Lists all projects by name.
pub(super) async fn list(store: &dyn Store) -> anyhow::Result<()> {
    let projects = store.projects().await?;
    let row = |project: &Project| [project.name.to_string(), table::time(project.created_at)];
    print(&table::lines(
        ["PROJECT", "CREATED"],
        projects.iter().map(row),
    ))
}
