//! Values against schemas, without holding up anybody else: what may take long runs beside the calls, two at a time
//! for a project (`reliability.md` 6).

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use domain::{Json, ProjectId};
use tokio::sync::Semaphore;

use crate::schema::{Mismatch, Schema, too_many_values};

const AT_A_TIME: usize = 2;

/// Checks values.
#[derive(Default)]
pub(super) struct Checks {
    places: Mutex<HashMap<ProjectId, Arc<Semaphore>>>,
}

impl Checks {
    /// How `value` misses `schema`: nothing if it does not. What was begun goes on when the future is dropped, and
    /// keeps its place until it is done.
    pub(super) async fn mismatches(
        &self,
        project: ProjectId,
        schema: &Arc<Schema>,
        value: &Json,
    ) -> Vec<Mismatch> {
        if too_many_values(value.text()) {
            return vec![Mismatch::of_all("holds more values than are checked")];
        }
        if schema.is_light(value.text().len()) {
            return schema.mismatches(&value.to_value());
        }
        let place = self.places_of(project).acquire_owned().await;
        let (schema, value) = (schema.clone(), value.clone());
        let checking = tokio::task::spawn_blocking(move || {
            let _place = place;
            schema.mismatches(&value.to_value())
        });
        checking
            .await
            .unwrap_or_else(|_| vec![Mismatch::of_all("could not be checked")])
    }

    fn places_of(&self, project: ProjectId) -> Arc<Semaphore> {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        places
            .entry(project)
            .or_insert_with(|| Arc::new(Semaphore::new(AT_A_TIME)))
            .clone()
    }
}
