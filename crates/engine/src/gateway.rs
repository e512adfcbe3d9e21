//! The gateway: all that the doors may touch.

use std::sync::Arc;

use domain::{
    ModelName,
    seams::{Cache, Clock, Documents, Fetcher, Ids, Registry, Store, StoreError},
};
use thiserror::Error;
use tokio::sync::Mutex;

use crate::{
    aliases::Aliases,
    auth::Auth,
    calls::{Calls, Errands, Parts},
    catalogue::Catalogue,
    datasets::Datasets,
    embeddings::Embeddings,
    examples::Examples,
    functions::Functions,
    models::Models,
    observer::Observer,
    ocr::{self, Ocr},
    options::Options,
    price::PriceBook,
    projects::{self, Projects},
    rerank::Rerank,
    retries::Retries,
    route::Routes,
    spans::{Keeping, SpanWriter, SpanWriterTask, Spans, Sweep, SweepTask},
    vault::{Vault, VaultError},
};

/// The services, one per noun.
pub struct Gateway {
    /// Checks tokens.
    pub auth: Auth,
    /// What projects may do, and how much.
    pub projects: Arc<Projects>,
    /// Functions and their revisions.
    pub functions: Functions,
    /// Custom models.
    pub models: Models,
    /// Names that stand for lists of models.
    pub aliases: Aliases,
    /// What can be asked for, by name and with prices.
    pub catalogue: Catalogue,
    /// Calls of functions, and conversations.
    pub calls: Arc<Calls>,
    /// Texts as vectors.
    pub embeddings: Embeddings,
    /// Texts in order.
    pub rerank: Rerank,
    /// Documents, read.
    pub ocr: Ocr,
    /// What was recorded.
    pub spans: Spans,
    /// The functions' examples.
    pub datasets: Datasets,
    errands: Arc<Errands>,
    examples: Arc<Examples>,
    observer: Arc<Observer>,
    store: Arc<dyn Store>,
    span_writer: Mutex<Option<SpanWriterTask>>,
    sweep: Mutex<Option<SweepTask>>,
}

/// What the gateway stands on.
pub struct Ground {
    /// Where rows are kept.
    pub store: Arc<dyn Store>,
    /// Where answers are kept for equal calls.
    pub cache: Arc<dyn Cache>,
    /// The hosts of models.
    pub registry: Arc<dyn Registry>,
    /// Brings documents.
    pub fetcher: Arc<dyn Fetcher>,
    /// Reads documents on this machine.
    pub documents: Arc<dyn Documents>,
    /// What seals provider keys.
    pub vault: Vault,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
    /// Makes ids.
    pub ids: Arc<dyn Ids>,
}

/// Why the gateway does not open.
#[derive(Debug, Error)]
pub enum GatewayError {
    /// Provider keys are kept that this master key does not open.
    #[error(
        "the provider keys in the store cannot be opened: {0}; start with the master key that sealed them"
    )]
    MasterKey(#[from] VaultError),
    /// Storage does not work.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Gateway {
    /// Opens the gateway: closes the spans that an earlier process left open, checks the master key against what is kept
    /// and starts what works in the background.
    ///
    /// # Errors
    /// [`GatewayError`].
    pub async fn open(ground: Ground, options: &Options) -> Result<Self, GatewayError> {
        look_over(&ground, options).await?;
        let Ground {
            store,
            cache,
            registry,
            fetcher,
            documents,
            vault,
            clock,
            ids,
        } = ground;
        let vault = Arc::new(vault);
        let projects = Projects::new(store.clone(), clock.clone(), &options.projects);
        let projects = Arc::new(projects);
        let keeping = Arc::new(Keeping::new(projects.clone(), options.spans));
        let (spans, span_writer) = SpanWriter::start(store.clone(), keeping.clone());
        let sweep = Sweep::new(&store, &keeping, &clock).start();
        let prices = Arc::new(PriceBook::new(options.own_prices.clone()));
        let hosts = (registry.clone(), prices.clone());
        let rows = (store.clone(), projects.clone());
        let routes = Routes::new(rows, vault.clone(), hosts, options);
        let (routes, seams) = (Arc::new(routes), (&clock, &ids));
        let retries = Arc::new(Retries::new(options.model_calls, ids.clone()));
        let time = (clock.clone(), ids.clone());
        let errands = Arc::new(Errands::new(
            (routes.clone(), projects.clone(), store.clone()),
            spans.clone(),
            retries.clone(),
            time,
            options,
        ));
        let examples = Arc::new(Examples::new(
            &store,
            (&errands, &*registry),
            &spans,
            seams,
            options,
        ));
        let observer = Arc::new(Observer::start(
            &store,
            (routes.clone(), projects.clone()),
            &spans,
            seams,
            options,
        ));
        let hosts = (routes.clone(), registry.clone());
        let catalogue = Catalogue::new(store.clone(), hosts, prices, &options.models);
        let sources = ocr::Sources::new(fetcher, documents, options);
        let parts = Parts {
            store: store.clone(),
            cache,
            routes: routes.clone(),
            projects: projects.clone(),
            examples: examples.clone(),
            observer: observer.clone(),
            spans,
            retries,
            clock: clock.clone(),
            ids: ids.clone(),
        };
        Ok(Self {
            auth: Auth::new(store.clone(), clock.clone()),
            functions: Functions::new(&store, seams),
            models: Models {
                store: store.clone(),
                vault,
                registry,
                routes: routes.clone(),
                clock: clock.clone(),
                ids: ids.clone(),
            },
            catalogue,
            aliases: Aliases {
                store: store.clone(),
                clock: clock.clone(),
                ids: ids.clone(),
            },
            calls: Arc::new(Calls::new(parts, options)),
            embeddings: Embeddings::new(errands.clone()),
            rerank: Rerank::new(errands.clone(), store.clone()),
            ocr: Ocr::new(errands.clone(), store.clone(), sources),
            spans: Spans::new(&store, seams, keeping, options.feedback),
            datasets: Datasets {
                store: store.clone(),
                examples: examples.clone(),
                clock,
                ids,
            },
            projects,
            errands,
            examples,
            observer,
            store,
            span_writer: Mutex::new(Some(span_writer)),
            sweep: Mutex::new(Some(sweep)),
        })
    }

    /// The model that is asked when nobody is named.
    pub fn default_model(&self) -> &ModelName {
        self.calls.default_model()
    }

    /// Whether there is room to record what is let in now. Storage that is only slow or locked is not asked.
    pub fn takes_more(&self) -> bool {
        self.store.takes_more().is_ok()
    }

    /// Whether calls could be recorded now.
    pub async fn is_ready(&self) -> bool {
        self.store.ready().await.is_ok()
    }

    /// Returns when storage cannot be written any more until a restart; otherwise never.
    pub async fn storage_lost(&self) {
        self.store.lost().await;
    }

    /// Ends the calls that are still under way, and returns when their spans are written.
    pub async fn stop_calls(&self) {
        tokio::join!(self.calls.stop(), self.errands.stop());
    }

    /// Ends what is still under way, writes what still waits and closes storage.
    pub async fn close(&self) {
        if let Some(sweep) = self.sweep.lock().await.take() {
            sweep.stop().await;
        }
        self.stop_calls().await;
        self.observer.stop().await;
        self.examples.stop().await;
        if let Some(writer) = self.span_writer.lock().await.take() {
            writer.stop().await;
        }
        self.projects.stop().await;
        self.store.close().await;
    }
}

/// Closes the spans that an earlier process left open, checks the master key against what is kept, and the operator's lists
/// against the projects.
async fn look_over(ground: &Ground, options: &Options) -> Result<(), GatewayError> {
    let Ground { store, vault, .. } = ground;
    let interrupted = store.interrupt_open_spans(ground.clock.now()).await?;
    if interrupted > 0 {
        tracing::info!(
            spans = interrupted,
            "closed the spans of calls that were cut off when the server stopped"
        );
    }
    if let Some(model) = store.any_sealed_model().await? {
        let sealed = model.sealed_key.as_deref().unwrap_or_default();
        vault.open(model.project, model.id, sealed)?;
    }
    projects::warn(&**store, options).await?;
    Ok(())
}
