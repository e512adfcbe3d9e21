//! `gatewright rotate-key`: another master key, and every provider key sealed under it.
//!
//! In a file the new key stands before the old one while keys are sealed anew, so that a running server opens both; it
//! reads the file again when it needs to. What was cut short is gone on with by the next run.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
    time::Duration,
};

use anyhow::{Context, bail};
use domain::seams::Store;
use engine::{MasterKey, Vault};

use crate::{
    commands::{bar, hint, open_store, print},
    compose,
    config::{self, MasterKeySource, Sources},
};

const BAR: &str = "{msg} [{bar:40}] {pos} of {len} {eta}";
/// What a server was about to seal under the old key when the new one came is kept after so long.
const GRACE: Duration = Duration::from_secs(2);

/// Changes the master key.
pub(super) async fn rotate(sources: &Sources) -> anyhow::Result<()> {
    let (options, source) = config::options_and_master_key(sources)?;
    let Some(master) = compose::existing_master_key(&source)? else {
        bail!("there is no master key yet: the first start of a server makes {source}");
    };
    let opened = open_store(&options.store).await?;
    let done = match &source {
        MasterKeySource::Given(_) => within_environment(&*opened.store, &master).await,
        MasterKeySource::File(path) | MasterKeySource::BesideStore(path) => {
            within_file(&*opened.store, path, &master).await
        }
    };
    opened.store.close().await;
    done
}

/// The environment is the operator's to change, before and after.
async fn within_environment(store: &dyn Store, master: &MasterKey) -> anyhow::Result<()> {
    if !master.is_changing() {
        bail!(
            "GATEWRIGHT_MASTER_KEY holds one key: set it to NEW,OLD (`openssl rand -base64 32` makes a new one), restart \
             the servers with it, and run this again with it; afterwards NEW alone is enough"
        );
    }
    let count = seal_anew(store, &Vault::new(master)).await?;
    print(&[format!(
        "sealed {count} provider keys under the first key of GATEWRIGHT_MASTER_KEY; restart the servers with that one alone"
    )])
}

async fn within_file(store: &dyn Store, path: &Path, master: &MasterKey) -> anyhow::Result<()> {
    let shown = path.display();
    let cannot = || format!("the master key in {shown} cannot be changed");
    let text = fs::read_to_string(path).with_context(cannot)?;
    let text = if master.is_changing() {
        hint("a change of the master key was cut short; it is gone on with");
        text
    } else {
        let (_, new) = MasterKey::generate();
        let text = format!("{}\n{}", new.expose(), text.trim());
        compose::keep_master_key(path, &text).with_context(cannot)?;
        text
    };
    let both = MasterKey::parse(&text)?;
    let count = seal_anew(store, &Vault::new(&both)).await?;
    let (new, old) = text.trim().split_once(['\n', ',']).unwrap_or((&text, ""));
    let aside = path.with_extension("old");
    keep_aside(&aside, old).with_context(cannot)?;
    compose::keep_master_key(path, new.trim()).with_context(cannot)?;
    hint(&format!(
        "backups that were made before are opened by the old key, which is in {}; delete it with the last of them",
        aside.display()
    ));
    print(&[format!(
        "sealed {count} provider keys under a new master key in {shown}"
    )])
}

/// Seals what former keys sealed, until nothing of that is left; says how many keys there were.
async fn seal_anew(store: &dyn Store, vault: &Vault) -> anyhow::Result<usize> {
    let bar = bar(BAR, "sealing");
    let mut count = 0;
    // Once more after a while: a server may have been at it.
    for pause in [Duration::ZERO, GRACE] {
        tokio::time::sleep(pause).await;
        loop {
            let mut models = store.sealed_models().await?;
            models.retain(|model| {
                let sealed = model.sealed_key.as_deref();
                sealed.is_some_and(|sealed| !vault.is_current(sealed))
            });
            if models.is_empty() {
                break;
            }
            bar.inc_length(models.len() as u64);
            for model in models {
                let sealed = model.sealed_key.as_deref().unwrap_or_default();
                let key = vault.open(model.project, model.id, sealed);
                let key = key.with_context(|| {
                    format!(
                        "the key of the custom model `{}` cannot be opened; both master keys stay where they are. Give \
                         that model its key again with `PATCH /v2/models/custom/{}`, or delete it, and run this once more",
                        model.name, model.id
                    )
                })?;
                let sealed = vault.seal(model.project, model.id, &key);
                count += usize::from(store.reseal_model(&model, &sealed).await?);
                bar.inc(1);
            }
        }
    }
    bar.finish_and_clear();
    Ok(count)
}

/// Adds a key to those that sealed before.
fn keep_aside(path: &Path, old: &str) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(path)?;
    writeln!(file, "{}", old.trim())?;
    file.sync_all()
}
