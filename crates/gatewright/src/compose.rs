//! Composition: names every concrete type once and joins them.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::Path,
    sync::Arc,
};

use anyhow::{Context, anyhow, bail};
use documents::LocalDocuments;
use domain::{
    Principal, Project, ProjectName, Secret, Token,
    seams::{Clock, Ids, RandomIds, Store, StoreError, SystemClock},
};
use engine::{Gateway, Ground, MasterKey, Vault, token};
use providers::Providers;
use store::Stores;

use crate::config::{Config, MasterKeySource, Problems};

/// A gateway on its ground, and what its start has to tell.
pub(crate) struct Composed {
    pub(crate) gateway: Gateway,
    pub(crate) ids: Arc<dyn Ids>,
    /// Whether nobody can have a token yet.
    pub(crate) lacks_tokens: bool,
}

/// Joins the parts that the configuration describes.
///
/// # Errors
/// What the operator has to mend: a bad key, a held data directory, a master key that does not fit.
pub(crate) async fn compose(config: &Config) -> anyhow::Result<Composed> {
    let ids: Arc<dyn Ids> = Arc::new(RandomIds);
    let (ground, providers) = connect(config)?;
    let registry = &providers.registry;
    let models = &config.options.models;
    let defaults = [
        ("default", &models.default, "calls"),
        ("default_embedding", &models.default_embedding, "embeddings"),
    ];
    for (setting, model, asking) in defaults {
        let Some(model) = model else { continue };
        let host = model
            .split()
            .and_then(|(provider, _)| registry.host(provider));
        if !host.is_some_and(|host| host.configured) {
            tracing::warn!(%model, "`models.{setting}` names no configured provider: {asking} that name no model will fail");
        }
    }
    let stores = store::open(&config.options.store).await?;
    let store = stores.store.clone();
    let master_key = master_key(&config.master_key, &*store).await?;
    for (project, text) in &config.bootstrap_tokens {
        accept(&*store, (&*ground.clock, &*ids), project, text).await?;
    }
    let lacks_tokens = store.tokens().await?.is_empty();
    let gateway = open(config, (ground, providers), stores, (&master_key, &ids)).await?;
    Ok(Composed {
        gateway,
        ids,
        lacks_tokens,
    })
}

/// A gateway that keeps nothing, for a command that does what a server would, and its one caller.
///
/// # Errors
/// A bad key of the configuration.
pub(crate) async fn alone(config: &Config) -> anyhow::Result<(Gateway, Principal)> {
    alone_with(config, config.provider_options()).await
}

/// The same with other providers, or fewer of their keys.
///
/// # Errors
/// A bad key of the configuration.
pub(crate) async fn alone_with(
    config: &Config,
    providers: providers::Options,
) -> anyhow::Result<(Gateway, Principal)> {
    let ids: Arc<dyn Ids> = Arc::new(RandomIds);
    let connected = connect_with(config, providers)?;
    let clock = connected.0.clock.clone();
    let stores = store::open_in_memory().await?;
    let project = ProjectName::parse("default").map_err(|fault| anyhow!(fault))?;
    let (_, text) = MasterKey::generate();
    accept(&*stores.store, (&*clock, &*ids), &project, &text).await?;
    let (master_key, _) = MasterKey::generate();
    let gateway = open(config, connected, stores, (&master_key, &ids)).await?;
    let caller = gateway.auth.principal(text.expose()).await;
    Ok((gateway, caller.map_err(|error| anyhow!(error))?))
}

async fn open(
    config: &Config,
    (ground, providers): (providers::Ground, Providers),
    stores: Stores,
    (master_key, ids): (&MasterKey, &Arc<dyn Ids>),
) -> anyhow::Result<Gateway> {
    let ground = Ground {
        store: stores.store,
        cache: stores.cache,
        registry: providers.registry,
        fetcher: providers.fetcher,
        documents: ground.documents,
        vault: vault(master_key, &config.master_key),
        clock: ground.clock,
        ids: ids.clone(),
    };
    Ok(Gateway::open(ground, &config.engine_options()).await?)
}

/// The providers that the configuration describes, on their ground.
///
/// # Errors
/// The first key with a bad value.
pub(crate) fn connect(config: &Config) -> Result<(providers::Ground, Providers), Problems> {
    connect_with(config, config.provider_options())
}

fn connect_with(
    config: &Config,
    providers: providers::Options,
) -> Result<(providers::Ground, Providers), Problems> {
    let documents = LocalDocuments::new(&config.options.ocr);
    if documents.tesseract().is_none() {
        tracing::info!(
            "`local/ocr` reads text layers alone: scans take the program `tesseract` (`apt-get install tesseract-ocr`)"
        );
    }
    let ground = providers::Ground {
        clock: Arc::new(SystemClock),
        documents: Arc::new(documents),
    };
    let connected = providers::connect(providers, &ground);
    let providers = connected.map_err(|fault| config.refusal(&fault))?;
    Ok((ground, providers))
}

/// A vault that a running server keeps while the file of its master key is changed.
fn vault(master_key: &MasterKey, source: &MasterKeySource) -> Vault {
    let vault = Vault::new(master_key);
    match source {
        MasterKeySource::Given(_) => vault,
        MasterKeySource::File(path) | MasterKeySource::BesideStore(path) => {
            let path = path.clone();
            vault.renewed_by(move || MasterKey::parse(&fs::read_to_string(&path).ok()?).ok())
        }
    }
}

/// The given master key, or the one beside the store, which is made when nothing was ever sealed.
async fn master_key(source: &MasterKeySource, store: &dyn Store) -> anyhow::Result<MasterKey> {
    if let Some(key) = existing_master_key(source)? {
        return Ok(key);
    }
    let MasterKeySource::BesideStore(path) = source else {
        bail!("the master key was to be had from {source} and is not");
    };
    if store.any_sealed_model().await?.is_some() {
        bail!(
            "the master key {} is missing, and the store holds provider keys that it sealed; put the file back, or give \
             the key as GATEWRIGHT_MASTER_KEY",
            path.display()
        );
    }
    make_master_key(path)
}

/// The master key, unless it is the one beside the store, and that was not made yet.
///
/// # Errors
/// A file that cannot be read, or holds no master key.
pub(crate) fn existing_master_key(source: &MasterKeySource) -> anyhow::Result<Option<MasterKey>> {
    let (path, may_be_missing) = match source {
        MasterKeySource::Given(key) => return Ok(Some(MasterKey::parse(key.expose())?)),
        MasterKeySource::File(path) => (path, false),
        MasterKeySource::BesideStore(path) => (path, true),
    };
    let text = match fs::read_to_string(path) {
        Err(error) if may_be_missing && error.kind() == io::ErrorKind::NotFound => return Ok(None),
        read => {
            read.with_context(|| format!("the master key in {} cannot be read", path.display()))?
        }
    };
    warn_if_readable_by_others(path);
    let key = MasterKey::parse(&text)
        .with_context(|| format!("the master key in {} cannot be used", path.display()))?;
    Ok(Some(key))
}

/// A mounted secret may have a mode that its owner cannot choose, so this does not stop the start.
fn warn_if_readable_by_others(path: &Path) {
    let mode = fs::metadata(path).map_or(0, |metadata| metadata.permissions().mode());
    if mode & 0o077 != 0 {
        let mode = format!("{:03o}", mode & 0o777);
        tracing::warn!(path = %path.display(), mode, "others may read the master key; `chmod 600` closes it");
    }
}

fn make_master_key(path: &Path) -> anyhow::Result<MasterKey> {
    let (key, text) = MasterKey::generate();
    keep_master_key(path, text.expose())
        .with_context(|| format!("the master key {} cannot be made", path.display()))?;
    Ok(key)
}

/// Puts a master key into its file, in place of what is there: all of it or nothing, whenever this is cut off.
pub(crate) fn keep_master_key(path: &Path, text: &str) -> io::Result<()> {
    let mut unfinished = path.as_os_str().to_owned();
    unfinished.push(".unfinished");
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&unfinished)?;
    file.write_all(text.as_bytes())?;
    file.write_all(b"\n")?;
    file.sync_all()?;
    fs::rename(&unfinished, path)?;
    path.parent()
        .map_or(Ok(()), |folder| fs::File::open(folder)?.sync_all())
}

/// Accepts a bootstrap token, and makes its project if it is not there. Given again, it changes nothing.
async fn accept(
    store: &dyn Store,
    (clock, ids): (&dyn Clock, &dyn Ids),
    name: &ProjectName,
    text: &Secret,
) -> anyhow::Result<()> {
    let fault = || format!("the bootstrap token of project `{name}` cannot be accepted");
    let project = project_named(store, (clock, ids), name).await?;
    let (id, hash) = token::chosen(text.expose()).with_context(fault)?;
    let token = Token {
        id,
        hash,
        project: project.id,
        label: Some("bootstrap".to_owned()),
        created_at: clock.now(),
        expires_at: None,
        revoked_at: None,
        calls_per_minute: None,
    };
    match store.insert_token(&token).await {
        Ok(()) => Ok(()),
        Err(StoreError::Taken) => {
            let (key, _) = token::key_of(text.expose()).with_context(fault)?;
            let known = store.token(&key).await?;
            if known.is_some_and(|known| known.project == project.id) {
                return Ok(());
            }
            Err(anyhow!("it belongs to another project").context(fault()))
        }
        Err(error) => Err(error.into()),
    }
}

/// The project of that name, made if it is not there.
pub(crate) async fn project_named(
    store: &dyn Store,
    (clock, ids): (&dyn Clock, &dyn Ids),
    name: &ProjectName,
) -> anyhow::Result<Project> {
    if let Some(project) = store.project_by_name(name).await? {
        return Ok(project);
    }
    let project = Project {
        id: ids.next().into(),
        name: name.clone(),
        created_at: clock.now(),
    };
    match store.insert_project(&project).await {
        Ok(()) => Ok(project),
        // Somebody else made it a moment ago.
        Err(StoreError::Taken) => store
            .project_by_name(name)
            .await?
            .with_context(|| format!("the project `{name}` went away")),
        Err(error) => Err(error.into()),
    }
}
