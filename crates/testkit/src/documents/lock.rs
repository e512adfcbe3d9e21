//! Encryption with a password as PDF 1.4 has it (ISO 32000-1, 7.6.3: RC4, 128 bits, revision 3).

use pdf_writer::{Name, Pdf, Ref, Str};

/// The filler of short passwords, from the standard.
const FILLER: [u8; 32] = [
    0x28, 0xbf, 0x4e, 0x5e, 0x4e, 0x75, 0x8a, 0x41, 0x64, 0x00, 0x4e, 0x56, 0xff, 0xfa, 0x01, 0x08,
    0x2e, 0x2e, 0x00, 0xb6, 0xd0, 0x68, 0x3e, 0x80, 0x2f, 0x0c, 0xa9, 0xfe, 0x64, 0x53, 0x69, 0x7a,
];

/// Read aloud, print; change nothing.
const PERMISSIONS: i32 = -1340;

/// A document's lock.
#[derive(Debug)]
pub(crate) struct Lock {
    id: [u8; 16],
    key: [u8; 16],
    owner: [u8; 32],
    user: [u8; 32],
}

impl Lock {
    /// A lock that asks for `user` before a page is read; with an empty word, nobody is asked.
    pub(crate) fn new(id: [u8; 16], user: &str, owner: &str) -> Self {
        let owner_key = digest(&[&padded(owner)], 51);
        let owner = (0..20).fold(padded(user), |bytes, round| {
            rc4(&owner_key.map(|byte| byte ^ round), bytes)
        });
        let parts: [&[u8]; 4] = [&padded(user), &owner, &PERMISSIONS.to_le_bytes(), &id];
        let key = digest(&parts, 51);
        let mark = digest(&[&FILLER, &id], 1);
        let mark = (0..20).fold(mark, |bytes, round| {
            rc4(&key.map(|byte| byte ^ round), bytes)
        });
        let mut user = [0; 32];
        user[..16].copy_from_slice(&mark);
        Self {
            id,
            key,
            owner,
            user,
        }
    }

    pub(crate) const fn id(&self) -> &[u8; 16] {
        &self.id
    }

    /// Writes the entry that readers of the file look at first.
    pub(crate) fn describe(&self, pdf: &mut Pdf, entry: Ref) {
        let mut entry = pdf.indirect(entry).dict();
        entry.pair(Name(b"Filter"), Name(b"Standard"));
        entry.pair(Name(b"V"), 2).pair(Name(b"R"), 3);
        entry.pair(Name(b"Length"), 128);
        entry.pair(Name(b"P"), PERMISSIONS);
        entry.pair(Name(b"O"), Str(&self.owner));
        entry.pair(Name(b"U"), Str(&self.user));
    }

    /// Encrypts the bytes of a stream.
    pub(crate) fn seal(&self, object: Ref, bytes: Vec<u8>) -> Vec<u8> {
        let number = object.get().to_le_bytes();
        let key = digest(&[&self.key, &number[..3], &[0, 0]], 1);
        rc4(&key, bytes)
    }
}

fn padded(password: &str) -> [u8; 32] {
    let mut bytes = FILLER;
    let length = password.len().min(32);
    bytes[..length].copy_from_slice(&password.as_bytes()[..length]);
    bytes[length..].copy_from_slice(&FILLER[..32 - length]);
    bytes
}

/// MD5, again and again.
fn digest(parts: &[&[u8]], rounds: u32) -> [u8; 16] {
    let first = md5::compute(parts.concat()).0;
    (1..rounds).fold(first, |digest, _| md5::compute(digest).0)
}

fn rc4<B: AsMut<[u8]>>(key: &[u8], mut bytes: B) -> B {
    let mut state: [u8; 256] = std::array::from_fn(|index| index.to_le_bytes()[0]);
    let mut swap = 0_u8;
    for index in 0..256 {
        swap = swap
            .wrapping_add(state[index])
            .wrapping_add(key[index % key.len()]);
        state.swap(index, usize::from(swap));
    }
    let (mut first, mut second) = (0_u8, 0_u8);
    for byte in bytes.as_mut() {
        first = first.wrapping_add(1);
        second = second.wrapping_add(state[usize::from(first)]);
        state.swap(usize::from(first), usize::from(second));
        let place = state[usize::from(first)].wrapping_add(state[usize::from(second)]);
        *byte ^= state[usize::from(place)];
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rc4_makes_its_well_known_bytes() {
        let sealed = rc4(b"Key", b"Plaintext".to_vec());

        assert_eq!(
            sealed,
            [0xbb, 0xf3, 0x16, 0xe8, 0xd9, 0x40, 0xaf, 0x0a, 0xd3]
        );
    }
}
