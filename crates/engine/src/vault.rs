//! The vault: provider keys sealed before they are kept, and opened before they are sent.
//!
//! AES-256-GCM-SIV under a key derived from the master key. A sealed key is bound to its project and model: moved to
//! another row it does not open. Loading the master key from wherever it is kept is not done here.

use aws_lc_rs::{
    aead::{AES_256_GCM_SIV, Aad, Nonce, RandomizedNonceKey},
    digest, hkdf,
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use domain::{ModelId, ProjectId, Secret};
use thiserror::Error;

const VERSION: u8 = 1;
const KEY_ID_BYTES: usize = 8;
const NONCE_BYTES: usize = 12;
const HEAD_BYTES: usize = 1 + KEY_ID_BYTES + NONCE_BYTES;

/// The 32 bytes that every sealing key is derived from.
pub struct MasterKey([u8; 32]);

impl MasterKey {
    /// Reads 32 bytes in base64; white space around them is ignored.
    ///
    /// # Errors
    /// [`VaultError::BadMasterKey`] for anything else.
    pub fn parse(text: &str) -> Result<Self, VaultError> {
        let bytes = BASE64_STANDARD
            .decode(text.trim())
            .map_err(|_| VaultError::BadMasterKey)?;
        bytes
            .try_into()
            .map(Self)
            .map_err(|_| VaultError::BadMasterKey)
    }

    /// A new random key, and its base64 form to keep.
    pub fn generate() -> (Self, Secret) {
        let mut bytes = [0; 32];
        aws_lc_rs::rand::fill(&mut bytes).expect("the machine has a source of randomness");
        (Self(bytes), Secret::new(BASE64_STANDARD.encode(bytes)))
    }
}

/// Why a sealed key cannot be had.
#[derive(Debug, Error)]
pub enum VaultError {
    /// Not 32 bytes in base64.
    #[error("the master key must be 32 bytes in base64, as `openssl rand -base64 32` prints them")]
    BadMasterKey,
    /// Sealed under another master key.
    #[error("sealed under another master key")]
    OtherMasterKey,
    /// Changed, moved or cut.
    #[error("damaged")]
    Damaged,
}

/// Seals and opens.
pub struct Vault {
    key: RandomizedNonceKey,
    key_id: [u8; KEY_ID_BYTES],
}

/// The length of a derived key.
struct KeyLength;

impl hkdf::KeyType for KeyLength {
    fn len(&self) -> usize {
        32
    }
}

impl Vault {
    /// A vault under `master`.
    pub fn new(master: &MasterKey) -> Self {
        let mut derived = [0; 32];
        hkdf::Salt::new(hkdf::HKDF_SHA256, b"gatewright/vault")
            .extract(&master.0)
            .expand(&[b"provider-keys/v1"], KeyLength)
            .and_then(|okm| okm.fill(&mut derived))
            .expect("32 bytes are within what the derivation can give");
        let fingerprint = digest::digest(&digest::SHA256, &derived);
        let mut key_id = [0; KEY_ID_BYTES];
        key_id.copy_from_slice(&fingerprint.as_ref()[..KEY_ID_BYTES]);
        let key =
            RandomizedNonceKey::new(&AES_256_GCM_SIV, &derived).expect("the key has 32 bytes");
        Self { key, key_id }
    }

    /// Seals the key of a model.
    pub fn seal(&self, project: ProjectId, model: ModelId, secret: &Secret) -> Vec<u8> {
        let mut body = secret.expose().as_bytes().to_vec();
        let nonce = self
            .key
            .seal_in_place_append_tag(self.bound_to(project, model), &mut body)
            .expect("the machine has a source of randomness");
        let mut sealed = Vec::with_capacity(HEAD_BYTES + body.len());
        sealed.push(VERSION);
        sealed.extend_from_slice(&self.key_id);
        sealed.extend_from_slice(nonce.as_ref());
        sealed.extend_from_slice(&body);
        sealed
    }

    /// Opens the key of a model.
    ///
    /// # Errors
    /// [`VaultError::OtherMasterKey`] or [`VaultError::Damaged`].
    pub fn open(
        &self,
        project: ProjectId,
        model: ModelId,
        sealed: &[u8],
    ) -> Result<Secret, VaultError> {
        let (head, body) = sealed
            .split_at_checked(HEAD_BYTES)
            .ok_or(VaultError::Damaged)?;
        if head[0] != VERSION || head[1..=KEY_ID_BYTES] != self.key_id {
            return Err(VaultError::OtherMasterKey);
        }
        let nonce = Nonce::try_assume_unique_for_key(&head[1 + KEY_ID_BYTES..])
            .map_err(|_| VaultError::Damaged)?;
        let mut body = body.to_vec();
        let opened = self
            .key
            .open_in_place(nonce, self.bound_to(project, model), &mut body)
            .map_err(|_| VaultError::Damaged)?;
        let text = std::str::from_utf8(opened).map_err(|_| VaultError::Damaged)?;
        Ok(Secret::new(text))
    }

    /// Project, model, column and key: what a sealed key belongs to.
    fn bound_to(&self, project: ProjectId, model: ModelId) -> Aad<Vec<u8>> {
        let mut place = Vec::with_capacity(64);
        place.extend_from_slice(project.uuid().as_bytes());
        place.extend_from_slice(model.uuid().as_bytes());
        place.extend_from_slice(b"custom_models.sealed_key");
        place.extend_from_slice(&self.key_id);
        Aad::from(place)
    }
}

#[cfg(test)]
mod tests {
    use domain::seams::{CountingIds, Ids};

    use super::*;

    #[test]
    fn a_sealed_key_opens_in_its_place_alone() {
        let ids = CountingIds::default();
        let (project, model, other) = (ids.next().into(), ids.next().into(), ids.next().into());
        let vault = Vault::new(&MasterKey::generate().0);

        let sealed = vault.seal(project, model, &Secret::new("sk-123"));

        assert!(!sealed.windows(6).any(|window| window == b"sk-123"));
        assert_eq!(
            vault.open(project, model, &sealed).unwrap().expose(),
            "sk-123"
        );
        assert!(matches!(
            vault.open(project, other, &sealed),
            Err(VaultError::Damaged)
        ));
        assert!(matches!(
            vault.open(project, model, &sealed[..20]),
            Err(VaultError::Damaged)
        ));
        let stranger = Vault::new(&MasterKey::generate().0);
        assert!(matches!(
            stranger.open(project, model, &sealed),
            Err(VaultError::OtherMasterKey)
        ));
    }

    #[test]
    fn a_master_key_is_32_bytes_in_base64() {
        let (key, text) = MasterKey::generate();

        assert_eq!(
            MasterKey::parse(&format!(" {}\n", text.expose()))
                .unwrap()
                .0,
            key.0
        );
        for text in ["", "short", "c2hvcnQ=", &"A".repeat(44)] {
            assert!(MasterKey::parse(text).is_err(), "{text}");
        }
    }
}
