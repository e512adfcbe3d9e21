//! OCR: what stands on a document's pages (`interface.md` 7).

mod limits;
mod source;
mod vision;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use domain::{
    Cost, CustomModel, Document, DocumentFault, DocumentSource, Json, JsonObject, ModelChoice,
    ModelName, ModelSpec, OcrExtras, OcrPage, OcrPages, OcrRequest, Price, Principal, Progress,
    ProjectScope, SpanId, SpanKind,
    seams::{ProviderError, Store},
};
use serde_json::json;
use tokio::sync::OnceCell;

use crate::{
    calls::{AskingOne, Done, Errand, Errands, Noted},
    catalogue::{each_custom, place_of_custom, place_of_host},
    error::Error,
    route::{Purpose, Reachable, Route, Routes},
};

pub(crate) use self::source::Sources;

/// What the name of any model that sees is written behind, to have it read the pages.
const VISION: &str = "vision/";
/// The member of a custom model's `extra` that says that it reads documents.
const MEMBER: &str = "ocr";

/// The service of reading documents.
pub struct Ocr {
    errands: Arc<Errands>,
    store: Arc<dyn Store>,
    sources: Arc<Sources>,
}

/// A document to read.
#[derive(Debug, Clone)]
pub struct OcrCall {
    /// Who reads it.
    pub model: ModelName,
    /// The document.
    pub document: DocumentSource,
    /// Which pages, from 0, in any order; all, if there is none.
    pub pages: Vec<u32>,
    /// Whether the pictures on the pages are wanted, and not only their places.
    pub with_images: bool,
    /// How many pictures of a page are wanted.
    pub image_limit: Option<u32>,
    /// How wide and high a picture must be.
    pub image_min_size: Option<u32>,
    /// Settings in the providers' own words.
    pub extras: OcrExtras,
    /// Says how far it is to whoever looks.
    pub progress: Arc<Progress>,
}

/// A document that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct Recognized {
    /// The span that recorded it.
    pub span_id: SpanId,
    /// Its pages, ascending.
    pub pages: Vec<OcrPage>,
    /// How large it is.
    pub doc_size_bytes: usize,
    /// How long reading it took.
    pub seconds: f64,
    /// What was used of the settings.
    pub applied_settings: JsonObject,
    /// What it cost.
    pub cost: Cost,
}

/// A model that reads documents.
#[derive(Debug, Clone, PartialEq)]
pub struct OcrModel {
    /// Whose it is.
    pub hosting_provider: String,
    /// What it is asked for by.
    pub name: String,
    /// Where it reads.
    pub location: String,
    /// What a page costs in pico-USD; nothing, if that is not known.
    pub cost_per_page: i64,
}

/// A document to be read by the model of a route.
struct Reading {
    call: OcrCall,
    /// The pages that are wanted, ascending and none twice; all, if nothing is said.
    pages: Option<Vec<u32>>,
    /// The model, or the one that is shown the pages.
    spec: ModelSpec,
    is_vision: bool,
    sources: Arc<Sources>,
    document: OnceCell<Document>,
    began: std::time::Instant,
}

/// What came of it.
struct Read {
    came: OcrPages,
    doc_size_bytes: usize,
    seconds: f64,
}

impl Ocr {
    pub(crate) const fn new(
        errands: Arc<Errands>,
        store: Arc<dyn Store>,
        sources: Arc<Sources>,
    ) -> Self {
        Self {
            errands,
            store,
            sources,
        }
    }

    /// Reads a document. Dropping the future ends the work.
    ///
    /// # Errors
    /// `BadRequest` for a model that cannot be asked for this or an address that may not be dialled, `RequestValidation` and
    /// `PayloadTooLarge` for a document that cannot be read, `Upstream` and its kin for hosts that fail.
    pub async fn recognize(&self, caller: &Principal, call: OcrCall) -> Result<Recognized, Error> {
        let shown = call.model.as_str().strip_prefix(VISION);
        let is_vision = shown.is_some();
        let model = shown.map_or_else(|| Ok(call.model.clone()), ModelName::parse)?;
        let reading = Reading {
            pages: limits::wanted(&call.pages),
            call,
            spec: ModelSpec::One(ModelChoice::plain(model)),
            is_vision,
            sources: self.sources.clone(),
            document: OnceCell::new(),
            began: std::time::Instant::now(),
        };
        let Done {
            span_id, got, cost, ..
        } = self.errands.run(caller.scope(), reading).await?;
        Ok(Recognized {
            span_id,
            pages: got.came.pages,
            doc_size_bytes: got.doc_size_bytes,
            seconds: got.seconds,
            applied_settings: got.came.applied_settings,
            cost,
        })
    }

    /// The models that are known to read documents and that the project may use: those of configured providers, this
    /// machine's own first, then the project's that say so.
    ///
    /// # Errors
    /// `ServiceUnavailable`.
    pub async fn models(&self, caller: &Principal) -> Result<Vec<OcrModel>, Error> {
        let scope = caller.scope();
        let routes = self.errands.routes();
        let purpose = Purpose::Ocr;
        let mut models = Vec::new();
        for host in routes.configured_hosts() {
            let set = host.settings.get("region").cloned();
            let place = place_of_host(set.or_else(|| host.ocr.location.map(str::to_owned)));
            for model in host.ocr.names {
                let name = format!("{}/{model}", host.provider);
                if let Some(reachable) = routes.lookup(purpose, scope, &name).await? {
                    models.push(OcrModel {
                        hosting_provider: host.provider.clone(),
                        cost_per_page: per_page(&reachable),
                        name,
                        location: place.clone(),
                    });
                }
            }
        }
        let mut own = Vec::new();
        let reads = |model: &CustomModel| model.extra.to_value()[MEMBER] == true;
        each_custom(&*self.store, scope, |model| {
            own.extend(Some(model).filter(reads));
        })
        .await?;
        for model in own {
            let location = place_of_custom(&model);
            let reachable = routes.lookup(purpose, scope, &model.name).await?;
            models.push(OcrModel {
                hosting_provider: model.provider,
                name: model.name,
                location,
                cost_per_page: reachable.as_ref().map_or(0, per_page),
            });
        }
        Ok(models)
    }
}

fn per_page(reachable: &Reachable) -> i64 {
    let price = reachable.quote.as_ref().and_then(|quote| quote.price);
    price.map_or(0, |price: Price| price.page)
}

impl Reading {
    /// The document, brought here when it is first asked for.
    async fn document(&self) -> Result<&Document, ProviderError> {
        let bring = || self.sources.bring(&self.call.document);
        self.document.get_or_try_init(bring).await
    }

    /// What a provider is asked for.
    fn request(&self, document: &Document) -> Arc<OcrRequest> {
        let call = &self.call;
        Arc::new(OcrRequest {
            document: document.clone(),
            pages: self.pages.clone(),
            with_images: call.with_images,
            image_limit: call.image_limit,
            image_min_size: call.image_min_size,
            extras: call.extras.clone(),
            progress: call.progress.clone(),
        })
    }
}

#[async_trait]
impl Errand for Reading {
    type Got = Read;

    const KIND: SpanKind = SpanKind::OCR;

    fn input(&self) -> Json {
        let call = &self.call;
        Json::of(&json!({
            "document": source::told(&call.document),
            "pages": self.pages,
            "include_image_base64": call.with_images,
            "image_limit": call.image_limit,
            "image_min_size": call.image_min_size,
            "mistral_extra": call.extras.mistral,
            "docling_extra": call.extras.docling,
        }))
    }

    async fn route(&self, routes: &Routes, scope: ProjectScope) -> Result<Route, Error> {
        let purpose = if self.is_vision {
            Purpose::Chat
        } else {
            Purpose::Ocr
        };
        routes.resolve(purpose, scope, &self.spec).await
    }

    async fn ask(&self, asking: &AskingOne<'_>) -> Result<Read, ProviderError> {
        let Reachable {
            provider, target, ..
        } = asking.reachable;
        // Whoever lacks a key is not worth the way to the document.
        provider.check(target)?;
        let document = self.document().await?;
        let pages = self.pages.as_deref();
        let documents = &*self.sources.documents;
        let came = if self.is_vision {
            let pages = documents.pages(document, pages).await?;
            vision::read(asking, documents, document, &pages, &self.call.progress).await?
        } else {
            let request = self.request(document);
            // What is read here is counted where it is read.
            if target.api_base.is_none() {
                let mut came = asking.recognize(&request).await?;
                limits::keep(&mut came.pages, &request);
                came
            } else {
                let counted = documents.pages(document, pages).await;
                // Others may open what cannot be opened here; a page that is not there is nowhere.
                let expected = if pages.is_some() {
                    Some(counted?)
                } else {
                    counted.ok()
                };
                if let Some(expected) = &expected {
                    let total = u32::try_from(expected.len()).unwrap_or(u32::MAX);
                    self.call.progress.expect(total);
                }
                let mut came = asking.recognize(&request).await?;
                limits::keep(&mut came.pages, &request);
                if let Some(expected) = expected {
                    limits::tell_missing(&mut came, &expected)?;
                }
                came
            }
        };
        let done = u32::try_from(came.pages.len()).unwrap_or(u32::MAX);
        self.call.progress.reach(done);
        limits::check_size(&came.pages)?;
        Ok(Read {
            came,
            doc_size_bytes: document.content.len(),
            seconds: self.began.elapsed().as_secs_f64(),
        })
    }

    fn noted(&self, got: &Read) -> Noted {
        let page = |page: &OcrPage| json!({"index": page.index, "markdown": page.markdown});
        let pages: Vec<_> = got.came.pages.iter().map(page).collect();
        let settings = Json::of(&got.came.applied_settings);
        Noted {
            output: Json::of(&json!({ "pages": pages })),
            meta: JsonObject::from([("applied_settings".to_owned(), settings)]),
        }
    }

    fn within(&self) -> Option<(Duration, &'static str)> {
        Some((self.sources.timeout, DocumentFault::TimedOut.slug()))
    }

    /// How far it came, and what the document was.
    fn known(&self) -> JsonObject {
        let progress = &self.call.progress;
        let mut members = JsonObject::from([("pages_done".to_owned(), Json::of(&progress.done()))]);
        if let Some(total) = progress.total() {
            members.insert("pages_total".to_owned(), Json::of(&total));
        }
        if let Some(document) = self.document.get() {
            members.insert("document".to_owned(), source::described(document));
        }
        members
    }
}
