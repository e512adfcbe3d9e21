//! The lock: from a bearer token to the principal that it proves.

use std::{sync::Arc, time::Duration};

use domain::{
    Principal, Token, TokenKey,
    seams::{Clock, Store, StoreError},
};
use moka::sync::Cache;

use crate::{
    error::{Code, Error},
    token,
};

/// For how long a look-up is believed: tokens made or revoked elsewhere are honoured within 5 seconds.
const BELIEVED_FOR: Duration = Duration::from_secs(2);
const REMEMBERED: u64 = 10_000;

/// Checks tokens.
pub struct Auth {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    known: Cache<TokenKey, Option<Token>>,
}

impl Auth {
    /// Over the tokens in `store`.
    pub fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Self {
        let known = Cache::builder()
            .max_capacity(REMEMBERED)
            .time_to_live(BELIEVED_FOR)
            .build();
        Self {
            store,
            clock,
            known,
        }
    }

    /// The principal that a presented token proves.
    ///
    /// # Errors
    /// `Unauthorized`, one and the same for a malformed, unknown, expired or revoked token.
    pub async fn principal(&self, presented: &str) -> Result<Principal, Error> {
        let (key, hash) = token::key_of(presented).ok_or_else(unauthorized)?;
        let token = self.look_up(&key).await?.ok_or_else(unauthorized)?;
        let expired = token
            .expires_at
            .is_some_and(|expiry| expiry <= self.clock.now());
        if !token::matches(&token, &hash) || expired || token.revoked_at.is_some() {
            return Err(unauthorized());
        }
        Ok(Principal::of(&token))
    }

    async fn look_up(&self, key: &TokenKey) -> Result<Option<Token>, StoreError> {
        if let Some(known) = self.known.get(key) {
            return Ok(known);
        }
        let found = self.store.token(key).await?;
        self.known.insert(key.clone(), found.clone());
        Ok(found)
    }
}

/// The one refusal.
pub fn unauthorized() -> Error {
    Error::text(Code::Unauthorized, "a valid bearer token is needed")
}
