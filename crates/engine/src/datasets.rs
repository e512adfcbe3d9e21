//! Datasets: the examples of a function, added, read, changed and searched.

use std::sync::Arc;

use domain::{
    DatasetId, Entry, EntryChange, EntryId, Invalid, Json, Page, Paged, Principal,
    seams::{Clock, Ids, Store},
};

use crate::{
    error::Error,
    examples::{Examples, Sought},
};

/// The most that an entry's input, output or expected output may have.
pub(crate) const MAX_VALUE_BYTES: usize = 1024 * 1024;
const MAX_COMMENT_BYTES: usize = 8 * 1024;

/// The service of datasets.
pub struct Datasets {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) examples: Arc<Examples>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ids: Arc<dyn Ids>,
}

/// An entry to be added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEntry {
    /// An input.
    pub input: Json,
    /// What it led to.
    pub output: Json,
    /// What it should have led to, where that is something else.
    pub expected: Option<Json>,
    /// What to note about it.
    pub comment: Option<String>,
}

impl Datasets {
    /// Adds an entry.
    ///
    /// # Errors
    /// `NotFound`, `RequestValidation`.
    pub async fn add(
        &self,
        caller: &Principal,
        dataset: DatasetId,
        new: NewEntry,
    ) -> Result<Entry, Error> {
        let change = EntryChange {
            input: Some(new.input.clone()),
            output: Some(new.output.clone()),
            expected: Some(new.expected.clone()),
            comment: Some(new.comment.clone()),
        };
        check(&change)?;
        let entry = Entry {
            id: self.ids.next().into(),
            dataset_id: dataset,
            input: new.input,
            output: new.output,
            expected: new.expected,
            comment: new.comment,
            created_at: self.clock.now(),
        };
        let was_kept = self.store.insert_entry(caller.scope(), &entry).await?;
        was_kept.then_some(entry).ok_or_else(missing)
    }

    /// The entries, oldest first.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn list(
        &self,
        caller: &Principal,
        dataset: DatasetId,
        page: Page,
    ) -> Result<Paged<Entry>, Error> {
        let entries = self.store.entries(caller.scope(), dataset, page).await?;
        if entries.total == 0 {
            self.must_exist(caller, dataset).await?;
        }
        Ok(entries)
    }

    /// One entry.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn get(
        &self,
        caller: &Principal,
        dataset: DatasetId,
        id: EntryId,
    ) -> Result<Entry, Error> {
        match self.store.entry(caller.scope(), dataset, id).await? {
            Some(entry) => Ok(entry),
            None => Err(self.missing_entry(caller, dataset).await?),
        }
    }

    /// Changes an entry.
    ///
    /// # Errors
    /// `NotFound`, `RequestValidation`.
    pub async fn change(
        &self,
        caller: &Principal,
        dataset: DatasetId,
        id: EntryId,
        change: EntryChange,
    ) -> Result<Entry, Error> {
        check(&change)?;
        let scope = caller.scope();
        match self.store.change_entry(scope, dataset, id, change).await? {
            Some(entry) => Ok(entry),
            None => Err(self.missing_entry(caller, dataset).await?),
        }
    }

    /// Forgets an entry.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn delete(
        &self,
        caller: &Principal,
        dataset: DatasetId,
        id: EntryId,
    ) -> Result<(), Error> {
        if self.store.delete_entry(caller.scope(), dataset, id).await? {
            return Ok(());
        }
        Err(self.missing_entry(caller, dataset).await?)
    }

    /// The `limit` entries nearest to a text, the nearest first.
    ///
    /// # Errors
    /// `NotFound`.
    pub async fn query(
        &self,
        caller: &Principal,
        dataset: DatasetId,
        query: &str,
        limit: usize,
    ) -> Result<Vec<Arc<Entry>>, Error> {
        self.must_exist(caller, dataset).await?;
        let sought = Sought {
            scope: caller.scope(),
            dataset,
            version: None,
            input: Json::of(&query),
            count: limit,
            below: None,
        };
        Ok(self.examples.nearest(sought).await?.entries)
    }

    async fn must_exist(&self, caller: &Principal, id: DatasetId) -> Result<(), Error> {
        let dataset = self.store.dataset(caller.scope(), id).await?;
        dataset.map(drop).ok_or_else(missing)
    }

    /// Which of the two is not there.
    async fn missing_entry(&self, caller: &Principal, dataset: DatasetId) -> Result<Error, Error> {
        self.must_exist(caller, dataset).await?;
        Ok(Error::not_found("Dataset entry"))
    }
}

fn missing() -> Error {
    Error::not_found("Dataset")
}

fn check(change: &EntryChange) -> Result<(), Invalid> {
    let values = [
        ("input", change.input.as_ref()),
        ("output", change.output.as_ref()),
        (
            "expected",
            change.expected.as_ref().and_then(Option::as_ref),
        ),
    ];
    for (member, value) in values {
        if value.is_some_and(|value| value.text().len() > MAX_VALUE_BYTES) {
            return Err(Invalid::new("too_long", "has at most 1 MiB").at(member));
        }
    }
    let comment = change.comment.as_ref().and_then(Option::as_ref);
    if comment.is_some_and(|text| text.len() > MAX_COMMENT_BYTES) {
        let fault = "a comment has at most 8 KiB";
        return Err(Invalid::new("string_too_long", fault).at("comment"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_member_of_an_entry_has_its_bound() {
        let long = Json::of(&"x".repeat(MAX_VALUE_BYTES));
        let input = EntryChange {
            input: Some(long.clone()),
            ..EntryChange::default()
        };
        let expected = EntryChange {
            expected: Some(Some(long)),
            ..EntryChange::default()
        };
        let comment = EntryChange {
            comment: Some(Some("x".repeat(MAX_COMMENT_BYTES + 1))),
            ..EntryChange::default()
        };
        let cleared = EntryChange {
            expected: Some(None),
            comment: Some(None),
            ..EntryChange::default()
        };

        let place = |change: &EntryChange| check(change).map_err(|invalid| invalid.path);
        assert_eq!(place(&input), Err(vec!["input".to_owned()]));
        assert_eq!(place(&expected), Err(vec!["expected".to_owned()]));
        assert_eq!(place(&comment), Err(vec!["comment".to_owned()]));
        assert_eq!(place(&cleared), Ok(()));
    }
}
