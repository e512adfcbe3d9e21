//! What is kept, and whether the master key opens what of it is sealed.

use store::{Database, Inspection, OpenError};

use super::{finding::Finding, size};
use crate::{
    commands::sealed::{self, Opening},
    compose,
    config::MasterKeySource,
};

const STORE: &str = "store";
const KEY: &str = "master key";
/// A log that was folded back in time is shorter.
const LONG_LOG: u64 = 512 << 20;

/// Looks at what was found of the store, and tries the master key on it.
pub(super) fn look(
    inspected: &Result<Inspection, OpenError>,
    source: &MasterKeySource,
) -> Vec<Finding> {
    let database = match inspected {
        Err(error) => {
            return vec![
                Finding::fail(
                    STORE,
                    error.to_string(),
                    "put a backup in its place with `gatewright restore --force FILE`; what is there is kept aside",
                ),
                key(&[], source),
            ];
        }
        Ok(Inspection { database: None, .. }) => {
            let found = "there is no database yet; the first start makes it";
            return vec![Finding::ok(STORE, found), key(&[], source)];
        }
        Ok(Inspection {
            database: Some(database),
            ..
        }) => database,
    };
    let holder = inspected
        .as_ref()
        .ok()
        .and_then(|found| found.holder.as_deref());
    vec![store(database, holder), key(&database.sealed, source)]
}

fn store(database: &Database, holder: Option<&str>) -> Finding {
    let Database {
        schema,
        known,
        bytes,
        log_bytes,
        ..
    } = *database;
    let served = holder.map_or_else(
        || "no server runs on it".to_owned(),
        |holder| format!("a server runs on it, {holder}"),
    );
    let found = format!("sound, {}, schema {schema}; {served}", size(bytes));
    if let Some(complaint) = &database.complaint {
        return Finding::fail(
            STORE,
            format!("the database is damaged: {complaint}"),
            "stop the server and put a backup in its place with `gatewright restore --force FILE`",
        );
    }
    if schema > known {
        return Finding::fail(
            STORE,
            format!(
                "a newer Gatewright wrote it: its schema is number {schema}, this version knows {known}"
            ),
            "start the newer version again",
        );
    }
    if schema < known && holder.is_none() {
        let found = format!("{found}; the next start brings it to schema {known}");
        return Finding::ok(STORE, found);
    }
    if log_bytes > LONG_LOG {
        return Finding::warn(
            STORE,
            format!("{found}; its log has grown to {}", size(log_bytes)),
            "something reads the database for long, such as a copy that does not end; look who has it open",
        );
    }
    Finding::ok(STORE, found)
}

/// Whether the master key is there, and opens what is sealed.
fn key(keys: &[store::SealedKey], source: &MasterKeySource) -> Finding {
    let master = match compose::existing_master_key(source) {
        Ok(master) => master,
        Err(error) => {
            return Finding::fail(
                KEY,
                format!("{error:#}"),
                "mend the file, or give the key as GATEWRIGHT_MASTER_KEY",
            );
        }
    };
    let put_back = "give the one that sealed them as GATEWRIGHT_MASTER_KEY, or put its file back";
    match sealed::open(keys, master.as_ref()) {
        Opening::All(0) if master.is_none() => {
            Finding::ok(KEY, format!("the first start makes {source}"))
        }
        Opening::All(count) => Finding::ok(
            KEY,
            format!("{source}; it opens every sealed provider key ({count})"),
        ),
        Opening::NoKey => Finding::fail(
            KEY,
            format!(
                "{source} is missing, and provider keys are sealed ({})",
                keys.len()
            ),
            put_back,
        ),
        Opening::OtherKey => Finding::fail(
            KEY,
            format!("{source} is not the one that sealed the provider keys"),
            put_back,
        ),
        Opening::Damaged(models) => Finding::fail(
            KEY,
            format!(
                "the sealed keys of these models are damaged: {}",
                models.join(", ")
            ),
            "give them again with `PATCH /v2/models/custom/{id}`",
        ),
    }
}
