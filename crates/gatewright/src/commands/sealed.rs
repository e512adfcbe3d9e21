//! Whether a master key opens the provider keys that lie sealed in a store or a backup. Nothing of them is told.

use engine::{MasterKey, Vault, VaultError};
use store::SealedKey;

/// What came of trying.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Opening {
    /// So many were opened: all.
    All(usize),
    /// There is no master key to try.
    NoKey,
    /// Another one sealed them.
    OtherKey,
    /// These models' keys are damaged.
    Damaged(Vec<String>),
}

/// Tries all of them.
pub(super) fn open(keys: &[SealedKey], master: Option<&MasterKey>) -> Opening {
    if keys.is_empty() {
        return Opening::All(0);
    }
    let Some(master) = master else {
        return Opening::NoKey;
    };
    let vault = Vault::new(master);
    let mut damaged = Vec::new();
    for key in keys {
        match vault.open(key.project, key.model, &key.sealed) {
            Ok(_) => {}
            Err(VaultError::OtherMasterKey) => return Opening::OtherKey,
            Err(_) => damaged.push(format!("`{}`", key.name)),
        }
    }
    if damaged.is_empty() {
        Opening::All(keys.len())
    } else {
        Opening::Damaged(damaged)
    }
}

#[cfg(test)]
mod tests {
    use domain::{
        Secret,
        seams::{Ids, RandomIds},
    };

    use super::*;

    #[test]
    fn keys_open_by_the_master_key_that_sealed_them_alone() {
        let (master, other) = (MasterKey::generate().0, MasterKey::generate().0);
        let (project, model) = (RandomIds.next().into(), RandomIds.next().into());
        let sealed = Vault::new(&master).seal(project, model, &Secret::new("sk-123"));
        let key = SealedKey {
            project,
            model,
            name: "mine".to_owned(),
            sealed,
        };
        let mut cut = key.clone();
        cut.sealed.pop();
        let keys = [key];

        assert_eq!(open(&[], None), Opening::All(0));
        assert_eq!(open(&keys, None), Opening::NoKey);
        assert_eq!(open(&keys, Some(&master)), Opening::All(1));
        assert_eq!(open(&keys, Some(&other)), Opening::OtherKey);
        let damaged = Opening::Damaged(vec!["`mine`".to_owned()]);
        assert_eq!(open(&[cut], Some(&master)), damaged);
    }
}
