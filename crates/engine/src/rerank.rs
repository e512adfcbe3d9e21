//! Rerank: texts in the order in which they answer a query (`interface.md` 12).

use std::sync::Arc;

use async_trait::async_trait;
use domain::{
    Cost, CustomModel, Json, JsonObject, ModelChoice, ModelName, ModelSpec, Principal,
    ProjectScope, Ranked, RerankRequest, Reranking, SpanId, SpanKind, Usage,
    seams::{ProviderError, ProviderErrorKind as Kind, Store},
};
use futures_util::FutureExt;
use serde_json::json;

use crate::{
    calls::{AskingOne, Done, Errand, Errands, Noted},
    catalogue::{each_custom, place_of_custom, place_of_host},
    error::Error,
    parts::{Cut, Parts},
    route::{Purpose, Reachable, Route, Routes},
};

/// What the name of a model has in it that puts texts in order.
const SIGN: &str = "rerank";
/// The member of a custom model's `extra` that says so of one with another name.
const MEMBER: &str = "rerank";

/// The service of reranking.
pub struct Rerank {
    errands: Arc<Errands>,
    store: Arc<dyn Store>,
}

/// Texts that were put in order.
#[derive(Debug, Clone, PartialEq)]
pub struct Reranked {
    /// The span that recorded it.
    pub span_id: SpanId,
    /// The best first, no more than were wanted.
    pub results: Vec<Ranked>,
    /// The tokens that it took.
    pub usage: Usage,
    /// What it cost.
    pub cost: Cost,
}

/// A model that puts texts in order.
#[derive(Debug, Clone, PartialEq)]
pub struct RerankModel {
    /// Whose it is.
    pub hosting_provider: String,
    /// What it is asked for by.
    pub name: String,
    /// Where it is asked.
    pub location: String,
    /// What one request costs in pico-USD, if it is known and not billed by tokens.
    pub cost_per_request: Option<i64>,
}

struct Ordering {
    spec: ModelSpec,
    request: Arc<RerankRequest>,
}

impl Rerank {
    pub(crate) fn new(errands: Arc<Errands>, store: Arc<dyn Store>) -> Self {
        Self { errands, store }
    }

    /// Puts texts in the order in which they answer a query.
    ///
    /// # Errors
    /// `BadRequest` for a model that cannot be asked for this, `Upstream` and its kin for hosts that fail.
    pub async fn rerank(
        &self,
        caller: &Principal,
        request: RerankRequest,
        model: ModelName,
    ) -> Result<Reranked, Error> {
        let errand = Ordering {
            spec: ModelSpec::One(ModelChoice::plain(model)),
            request: Arc::new(request),
        };
        let Done {
            span_id,
            got,
            usage,
            cost,
            ..
        } = self.errands.run(caller.scope(), errand).await?;
        Ok(Reranked {
            span_id,
            results: got,
            usage,
            cost,
        })
    }

    /// The models that are known to put texts in order and that the project may use: those of configured providers, then
    /// the project's own by name. Others can be asked for as well.
    ///
    /// # Errors
    /// `ServiceUnavailable`.
    pub async fn models(&self, caller: &Principal) -> Result<Vec<RerankModel>, Error> {
        let scope = caller.scope();
        let routes = self.errands.routes();
        let purpose = Purpose::Rerank;
        let mut models = Vec::new();
        for host in routes.configured_hosts() {
            for model in host.rerank_models {
                let name = format!("{}/{model}", host.provider);
                let location = place_of_host(host.settings.get("region").cloned());
                if let Some(reachable) = routes.lookup(purpose, scope, &name).await? {
                    models.push(RerankModel {
                        hosting_provider: host.provider.clone(),
                        cost_per_request: per_request(&reachable),
                        name,
                        location,
                    });
                }
            }
        }
        // The project's own, by their names or by what their registrations say.
        let mut own = Vec::new();
        let add = |model: CustomModel| own.extend(Some(model).filter(reranks));
        each_custom(&*self.store, scope, add).await?;
        for model in own {
            let location = place_of_custom(&model);
            let reachable = routes.lookup(purpose, scope, &model.name).await?;
            models.push(RerankModel {
                hosting_provider: model.provider,
                name: model.name,
                location,
                cost_per_request: reachable.as_ref().and_then(per_request),
            });
        }
        Ok(models)
    }
}

fn reranks(model: &CustomModel) -> bool {
    let name = model.identifier.split().map_or("", |(_, name)| name);
    name.to_lowercase().contains(SIGN) || model.extra.to_value()[MEMBER] == true
}

/// What one request costs, where that is how the model is billed, or it costs nothing at all.
fn per_request(reachable: &Reachable) -> Option<i64> {
    let price = reachable.quote.as_ref()?.price?;
    let is_by_tokens = price.tokens.input != 0;
    Some(price.request).filter(|_| !is_by_tokens)
}

impl Ordering {
    /// The request for a part of the texts: the best of all are among the best of each.
    fn part(&self, cut: Cut) -> Arc<RerankRequest> {
        let request = &self.request;
        if cut.len() == request.documents.len() {
            return request.clone();
        }
        Arc::new(RerankRequest {
            query: request.query.clone(),
            documents: request.documents[cut].to_vec(),
            ..**request
        })
    }
}

#[async_trait]
impl Errand for Ordering {
    type Got = Vec<Ranked>;

    const KIND: SpanKind = SpanKind::RERANK;

    fn input(&self) -> Json {
        let RerankRequest {
            query,
            documents,
            top_k,
            ..
        } = &*self.request;
        Json::of(&json!({"query": query, "documents": documents, "top_k": top_k}))
    }

    async fn route(&self, routes: &Routes, scope: ProjectScope) -> Result<Route, Error> {
        routes.resolve(Purpose::Rerank, scope, &self.spec).await
    }

    async fn ask(&self, asking: &AskingOne<'_>) -> Result<Vec<Ranked>, ProviderError> {
        let Reachable {
            provider, target, ..
        } = asking.reachable;
        let most = provider.rerank_batch(target);
        let parts = Parts::of(&self.request.documents, most, usize::MAX);
        let ask = |cut: Cut| {
            let request = self.part(cut);
            async move {
                let check = |came: &Reranking| check(came, request.documents.len());
                asking.rerank(&request, check).await
            }
            .boxed()
        };
        let parts = parts.ask(asking.is_on_probation(), ask).await?;
        let parts = parts.into_iter().flat_map(|(cut, results)| {
            let of_all = move |ranked: Ranked| Ranked {
                index: cut.start + ranked.index,
                ..ranked
            };
            results.into_iter().map(of_all)
        });
        let mut results: Vec<Ranked> = parts.collect();
        // Those that tie stay as the provider has them.
        results.sort_by(|one, other| other.score.total_cmp(&one.score));
        results.truncate(self.request.top_k.unwrap_or(usize::MAX));
        Ok(results)
    }

    fn noted(&self, got: &Vec<Ranked>) -> Noted {
        let result =
            |ranked: &Ranked| json!({"index": ranked.index, "relevance_score": ranked.score});
        let results: Vec<_> = got.iter().map(result).collect();
        let count = self.request.documents.len();
        Noted {
            output: Json::of(&results),
            meta: JsonObject::from([("count".to_owned(), Json::of(&count))]),
        }
    }
}

/// Whether each result is one of the texts, none of them twice.
fn check(came: &Reranking, documents: usize) -> Result<(), ProviderError> {
    let mut is_found = vec![false; documents];
    for ranked in &came.results {
        let place = is_found.get_mut(ranked.index);
        let place = place.filter(|is_found| !**is_found && ranked.score.is_finite());
        let place = place.ok_or_else(|| {
            let reason = "the results of the provider's answer make no sense";
            ProviderError::new(Kind::Protocol, reason)
        })?;
        *place = true;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_result_is_another_text_of_the_request() {
        let came = |results: &[(usize, f64)]| Reranking {
            results: results
                .iter()
                .map(|&(index, score)| Ranked { index, score })
                .collect(),
            usage: None,
        };

        assert!(check(&came(&[(1, 0.9), (0, 0.1)]), 2).is_ok());
        assert!(check(&came(&[(1, 0.9)]), 2).is_ok());
        for results in [
            came(&[(2, 0.9)]),
            came(&[(0, 0.9), (0, 0.8)]),
            came(&[(0, f64::NAN)]),
        ] {
            assert!(check(&results, 2).is_err(), "{results:?}");
        }
    }
}
