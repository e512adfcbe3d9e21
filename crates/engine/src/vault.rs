//! The vault: provider keys sealed before they are kept, and opened before they are sent.
//!
//! AES-256-GCM-SIV under a key derived from the master key. A sealed key is bound to its project and model: moved to
//! another row it does not open. Loading the master key from wherever it is kept is not done here.

use std::{
    iter,
    sync::{Arc, PoisonError, RwLock},
};

use aws_lc_rs::{
    aead::{AES_256_GCM_SIV, Aad, Nonce, RandomizedNonceKey},
    digest, hkdf,
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use domain::{ModelId, ProjectId, Secret};
use thiserror::Error;

const VERSION: u8 = 1;
const KEY_BYTES: usize = 32;
const KEY_ID_BYTES: usize = 8;
const NONCE_BYTES: usize = 12;
const HEAD_BYTES: usize = 1 + KEY_ID_BYTES + NONCE_BYTES;

/// The 32 bytes that every sealing key is derived from. While it is changed for another one, those that sealed before
/// are there too.
pub struct MasterKey {
    seals: [u8; KEY_BYTES],
    sealed_before: Vec<[u8; KEY_BYTES]>,
}

impl MasterKey {
    /// Reads 32 bytes in base64; those of a former key may follow, behind a comma or white space.
    ///
    /// # Errors
    /// [`VaultError::BadMasterKey`] for anything else.
    pub fn parse(text: &str) -> Result<Self, VaultError> {
        let words = text.split(|sign: char| sign == ',' || sign.is_whitespace());
        let words = words.filter(|word| !word.is_empty());
        let mut keys = words.map(key).collect::<Result<Vec<_>, _>>()?.into_iter();
        Ok(Self {
            seals: keys.next().ok_or(VaultError::BadMasterKey)?,
            sealed_before: keys.collect(),
        })
    }

    /// A new random key, and its base64 form to keep.
    pub fn generate() -> (Self, Secret) {
        let mut seals = [0; KEY_BYTES];
        aws_lc_rs::rand::fill(&mut seals).expect("the machine has a source of randomness");
        let key = Self {
            seals,
            sealed_before: Vec::new(),
        };
        (key, Secret::new(BASE64_STANDARD.encode(seals)))
    }

    /// Whether keys are there that sealed before.
    pub const fn is_changing(&self) -> bool {
        !self.sealed_before.is_empty()
    }
}

fn key(text: &str) -> Result<[u8; KEY_BYTES], VaultError> {
    let bytes = BASE64_STANDARD.decode(text);
    let bytes = bytes.map_err(|_| VaultError::BadMasterKey)?;
    bytes.try_into().map_err(|_| VaultError::BadMasterKey)
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
    rings: RwLock<Arc<[Ring]>>,
    renew: Option<Renew>,
}

/// Reads the master key again, from wherever it is kept.
type Renew = Box<dyn Fn() -> Option<MasterKey> + Send + Sync>;

/// A derived key.
struct Ring {
    key: RandomizedNonceKey,
    id: [u8; KEY_ID_BYTES],
}

/// The length of a derived key.
struct KeyLength;

impl hkdf::KeyType for KeyLength {
    fn len(&self) -> usize {
        KEY_BYTES
    }
}

impl Vault {
    /// A vault under `master`.
    pub fn new(master: &MasterKey) -> Self {
        Self {
            rings: RwLock::new(rings(master)),
            renew: None,
        }
    }

    /// The same, where the master key can change: it is read again before something is sealed, and when something was
    /// sealed under a key that is not known.
    #[must_use]
    pub fn renewed_by(
        mut self,
        read: impl Fn() -> Option<MasterKey> + Send + Sync + 'static,
    ) -> Self {
        self.renew = Some(Box::new(read));
        self
    }

    /// Seals the key of a model.
    pub fn seal(&self, project: ProjectId, model: ModelId, secret: &Secret) -> Vec<u8> {
        self.renew();
        let ring = &self.rings()[0];
        let mut body = secret.expose().as_bytes().to_vec();
        let nonce = ring
            .key
            .seal_in_place_append_tag(ring.bound_to(project, model), &mut body)
            .expect("the machine has a source of randomness");
        let mut sealed = Vec::with_capacity(HEAD_BYTES + body.len());
        sealed.push(VERSION);
        sealed.extend_from_slice(&ring.id);
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
        match open(&self.rings(), project, model, sealed) {
            Err(VaultError::OtherMasterKey) if self.renew() => {
                open(&self.rings(), project, model, sealed)
            }
            opened => opened,
        }
    }

    /// Whether a key is sealed under the master key that seals now, and not under a former one.
    pub fn is_current(&self, sealed: &[u8]) -> bool {
        sealed.get(1..=KEY_ID_BYTES) == Some(&self.rings()[0].id)
    }

    /// Says whether the master key was read again.
    fn renew(&self) -> bool {
        let Some(master) = self.renew.as_ref().and_then(|read| read()) else {
            return false;
        };
        *self.rings.write().unwrap_or_else(PoisonError::into_inner) = rings(&master);
        true
    }

    /// No panic happens while it is locked, so what is behind a poisoned lock is whole.
    fn rings(&self) -> Arc<[Ring]> {
        let rings = self.rings.read().unwrap_or_else(PoisonError::into_inner);
        rings.clone()
    }
}

fn rings(master: &MasterKey) -> Arc<[Ring]> {
    let former = master.sealed_before.iter();
    iter::once(&master.seals)
        .chain(former)
        .map(Ring::of)
        .collect()
}

fn open(
    rings: &[Ring],
    project: ProjectId,
    model: ModelId,
    sealed: &[u8],
) -> Result<Secret, VaultError> {
    let (head, body) = sealed
        .split_at_checked(HEAD_BYTES)
        .ok_or(VaultError::Damaged)?;
    let ring = rings.iter().find(|ring| head[1..=KEY_ID_BYTES] == ring.id);
    let Some(ring) = ring.filter(|_| head[0] == VERSION) else {
        return Err(VaultError::OtherMasterKey);
    };
    let nonce = Nonce::try_assume_unique_for_key(&head[1 + KEY_ID_BYTES..])
        .map_err(|_| VaultError::Damaged)?;
    let mut body = body.to_vec();
    let opened = ring
        .key
        .open_in_place(nonce, ring.bound_to(project, model), &mut body)
        .map_err(|_| VaultError::Damaged)?;
    let text = std::str::from_utf8(opened).map_err(|_| VaultError::Damaged)?;
    Ok(Secret::new(text))
}

impl Ring {
    fn of(master: &[u8; KEY_BYTES]) -> Self {
        let mut derived = [0; KEY_BYTES];
        hkdf::Salt::new(hkdf::HKDF_SHA256, b"gatewright/vault")
            .extract(master)
            .expand(&[b"provider-keys/v1"], KeyLength)
            .and_then(|okm| okm.fill(&mut derived))
            .expect("32 bytes are within what the derivation can give");
        let fingerprint = digest::digest(&digest::SHA256, &derived);
        let mut id = [0; KEY_ID_BYTES];
        id.copy_from_slice(&fingerprint.as_ref()[..KEY_ID_BYTES]);
        let key =
            RandomizedNonceKey::new(&AES_256_GCM_SIV, &derived).expect("the key has 32 bytes");
        Self { key, id }
    }

    /// Project, model, column and key: what a sealed key belongs to.
    fn bound_to(&self, project: ProjectId, model: ModelId) -> Aad<Vec<u8>> {
        let mut place = Vec::with_capacity(64);
        place.extend_from_slice(project.uuid().as_bytes());
        place.extend_from_slice(model.uuid().as_bytes());
        place.extend_from_slice(b"custom_models.sealed_key");
        place.extend_from_slice(&self.id);
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

        let read = MasterKey::parse(&format!(" {}\n", text.expose())).unwrap();
        assert_eq!((read.seals, read.is_changing()), (key.seals, false));
        for text in ["", "short", "c2hvcnQ=", &"A".repeat(44)] {
            assert!(MasterKey::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_a_former_key_sealed_opens_and_the_first_one_seals() {
        let ids = CountingIds::default();
        let (project, model) = (ids.next().into(), ids.next().into());
        let secret = Secret::new("sk-123");
        let ((old, old_text), (_, new_text)) = (MasterKey::generate(), MasterKey::generate());
        let sealed = Vault::new(&old).seal(project, model, &secret);
        let both = format!("{}\n{}", new_text.expose(), old_text.expose());
        let both = MasterKey::parse(&both).unwrap();
        assert!(both.is_changing());
        let vault = Vault::new(&both);

        let opened = vault.open(project, model, &sealed).unwrap();
        let again = vault.seal(project, model, &opened);

        assert!(!vault.is_current(&sealed) && vault.is_current(&again));
        let new = Vault::new(&MasterKey::parse(new_text.expose()).unwrap());
        assert_eq!(new.open(project, model, &again).unwrap().expose(), "sk-123");
        assert!(new.open(project, model, &sealed).is_err());
    }

    #[test]
    fn a_changed_master_key_is_read_again_when_it_is_needed() {
        let ids = CountingIds::default();
        let (project, model) = (ids.next().into(), ids.next().into());
        let secret = Secret::new("sk-123");
        let ((old, _), (new, new_text)) = (MasterKey::generate(), MasterKey::generate());
        let text = new_text.expose().to_owned();
        let vault = Vault::new(&old).renewed_by(move || MasterKey::parse(&text).ok());
        let sealed = Vault::new(&new).seal(project, model, &secret);

        assert_eq!(
            vault.open(project, model, &sealed).unwrap().expose(),
            "sk-123"
        );

        let vault = Vault::new(&old).renewed_by(move || MasterKey::parse(new_text.expose()).ok());
        assert!(Vault::new(&new).is_current(&vault.seal(project, model, &secret)));
    }
}
