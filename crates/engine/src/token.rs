//! The text of bearer tokens: how they are made, and what is looked up and compared when one is presented.
//!
//! A token reads `gw_<id: 16><_><secret: 43><checksum: 6>`, all in base62. The checksum stops typos before any
//! look-up and lets scanners find leaked tokens; it keeps nothing safe. Nothing here reads or writes storage.

use aws_lc_rs::{constant_time, digest, rand};
use domain::{Secret, Token, TokenHash, TokenId, TokenKey};
use thiserror::Error;

const PREFIX: &str = "gw_";
const ID_CHARS: usize = 16;
/// 62^43 is more than 2^256.
const SECRET_CHARS: usize = 43;
/// 62^6 is more than 2^32.
const CHECKSUM_CHARS: usize = 6;
const FOREIGN_CHARS: std::ops::RangeInclusive<usize> = 24..=4096;
const BASE62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// A token that was just made. Its text is known here alone: what is kept is id and hash.
#[derive(Debug)]
pub struct NewToken {
    /// The public half.
    pub id: TokenId,
    /// The whole token, to be shown once.
    pub secret: Secret,
    /// What a presented token must hash to.
    pub hash: TokenHash,
}

/// Makes a token.
pub fn generate() -> NewToken {
    let (id, secret) = (random_chars(ID_CHARS), random_chars(SECRET_CHARS));
    let body = format!("{PREFIX}{id}_{secret}");
    let checksum = checksum(&body);
    NewToken {
        id: TokenId::new(id),
        hash: sha256(&secret),
        secret: Secret::new(body + &checksum),
    }
}

/// What a presented text is looked up by, and the hash that the found token must have. `None` for a text that cannot
/// be a token, which needs no look-up.
pub fn key_of(text: &str) -> Option<(TokenKey, TokenHash)> {
    if text.starts_with(PREFIX) {
        let (id, hash) = own(text)?;
        return Some((TokenKey::Id(id), hash));
    }
    if !is_foreign(text) {
        return None;
    }
    let hash = sha256(text);
    Some((TokenKey::Hash(hash), hash))
}

/// Whether `hash` is the token's, in constant time.
pub fn matches(token: &Token, hash: &TokenHash) -> bool {
    constant_time::verify_slices_are_equal(&token.hash, hash).is_ok()
}

/// Why a chosen token is refused. It never holds the token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum BadToken {
    /// Too short, too long, or other characters than visible ASCII.
    #[error("a token has 24 to 4096 visible ASCII characters and no comma")]
    Characters,
    /// It begins like one of ours and is none.
    #[error(
        "a token that begins with `gw_` must be one that `gatewright token create` printed; its form or checksum is wrong"
    )]
    Checksum,
}

/// The id and hash under which a token that the operator chose is kept, so that [`key_of`] leads to it. The same text
/// always gives the same.
///
/// # Errors
/// [`BadToken`].
pub fn chosen(text: &str) -> Result<(TokenId, TokenHash), BadToken> {
    if text.starts_with(PREFIX) {
        return own(text).ok_or(BadToken::Checksum);
    }
    if !is_foreign(text) || text.contains(',') {
        return Err(BadToken::Characters);
    }
    let hash = sha256(text);
    Ok((id_from(&hash), hash))
}

/// Takes apart a token of our own form: its id, and the hash of its secret.
fn own(text: &str) -> Option<(TokenId, TokenHash)> {
    let body_chars = text.len().checked_sub(CHECKSUM_CHARS)?;
    let (body, given) = text.split_at_checked(body_chars)?;
    let (id, secret) = body.strip_prefix(PREFIX)?.split_once('_')?;
    if !is_base62(id, ID_CHARS) || !is_base62(secret, SECRET_CHARS) || given != checksum(body) {
        return None;
    }
    Some((TokenId::new(id), sha256(secret)))
}

fn is_base62(text: &str, chars: usize) -> bool {
    text.len() == chars && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

fn is_foreign(text: &str) -> bool {
    FOREIGN_CHARS.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}

fn checksum(body: &str) -> String {
    base62(crc32fast::hash(body.as_bytes()).into(), CHECKSUM_CHARS)
}

fn id_from(hash: &TokenHash) -> TokenId {
    let head = hash.first_chunk().expect("a hash has 32 bytes");
    TokenId::new(base62(u128::from_be_bytes(*head), ID_CHARS))
}

/// The last `chars` digits of a number.
fn base62(mut number: u128, chars: usize) -> String {
    let mut digits = vec![b'0'; chars];
    for digit in digits.iter_mut().rev() {
        let value = usize::try_from(number % 62).expect("a digit is below 62");
        *digit = BASE62[value];
        number /= 62;
    }
    digits.into_iter().map(char::from).collect()
}

fn random_chars(chars: usize) -> String {
    let mut text = String::with_capacity(chars);
    let mut bytes = [0; 64];
    while text.len() < chars {
        rand::fill(&mut bytes).expect("the machine has a source of randomness");
        // 248 is the largest multiple of 62 in a byte: what lies above would make some characters likelier.
        let fair = bytes.iter().filter(|byte| **byte < 248);
        let digits = fair.map(|byte| char::from(BASE62[usize::from(byte % 62)]));
        text.extend(digits.take(chars - text.len()));
    }
    text
}

fn sha256(text: &str) -> TokenHash {
    let hash = digest::digest(&digest::SHA256, text.as_bytes());
    hash.as_ref().try_into().expect("SHA-256 gives 32 bytes")
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use domain::{
        Timestamp,
        seams::{CountingIds, Ids},
    };

    use super::*;

    const FOREIGN: &str = "a-token-of-thirty-characters!!";

    fn kept(id: TokenId, hash: TokenHash) -> Token {
        Token {
            id,
            hash,
            project: CountingIds::default().next().into(),
            label: None,
            created_at: Timestamp::from_micros(0),
            expires_at: None,
            revoked_at: None,
            calls_per_minute: None,
        }
    }

    #[test]
    fn a_new_token_leads_to_itself() {
        let new = generate();

        let (key, hash) = key_of(new.secret.expose()).unwrap();

        assert_eq!(new.secret.expose().len(), 69);
        assert_eq!(key, TokenKey::Id(new.id.clone()));
        assert!(matches(&kept(new.id, new.hash), &hash));
    }

    #[test]
    fn another_token_does_not_match() {
        let (one, other) = (generate(), generate());

        assert!(!matches(&kept(one.id, one.hash), &other.hash));
    }

    #[test]
    fn no_two_tokens_are_alike() {
        let ids: HashSet<_> = (0..200).map(|_| generate().id).collect();

        assert_eq!(ids.len(), 200);
    }

    #[test]
    fn the_form_is_fixed() {
        let id = "0123456789ABCDEF";
        let secret = "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopq";

        let checksum = checksum(&format!("gw_{id}_{secret}"));

        assert_eq!(checksum, "1eYWTx");
        assert_eq!(
            key_of(&format!("gw_{id}_{secret}{checksum}")),
            Some((TokenKey::Id(TokenId::new(id)), sha256(secret)))
        );
    }

    #[test]
    fn one_wrong_character_anywhere_is_noticed() {
        let new = generate();
        let text = new.secret.expose();

        for at in PREFIX.len()..text.len() {
            for wrong in ['0', 'Z', '_', '-', ' '] {
                let mut chars: Vec<char> = text.chars().collect();
                if chars[at] == wrong {
                    continue;
                }
                chars[at] = wrong;
                let changed: String = chars.into_iter().collect();
                assert_eq!(key_of(&changed), None, "{at} {wrong:?}");
                assert_eq!(chosen(&changed), Err(BadToken::Checksum));
            }
        }
    }

    #[test]
    fn what_is_no_token_is_not_looked_up() {
        let whole = generate().secret;
        let cut = &whole.expose()[..68];
        let longer = format!("{}0", whole.expose());
        let long = "a".repeat(4097);
        for text in [
            "",
            "gw_",
            "gw_éééééééééééééééééééééééééé",
            "short",
            "twenty-four characters and spaces",
            "twenty-four-characters-é-and-more",
            "twenty-four-characters\tand-more",
            cut,
            &longer,
            &long,
        ] {
            assert_eq!(key_of(text), None, "{text}");
        }
    }

    #[test]
    fn a_chosen_token_leads_to_what_is_kept_of_it() {
        let own = generate();
        for text in [FOREIGN, own.secret.expose()] {
            let (id, hash) = chosen(text).unwrap();

            let (key, presented) = key_of(text).unwrap();

            assert!([TokenKey::Id(id.clone()), TokenKey::Hash(hash)].contains(&key));
            assert_eq!(chosen(text), Ok((id.clone(), hash)));
            assert!(matches(&kept(id, hash), &presented));
        }
    }

    #[test]
    fn the_id_of_a_chosen_token_is_shaped_like_any_other() {
        let (id, hash) = chosen(FOREIGN).unwrap();

        assert!(is_base62(id.as_str(), ID_CHARS));
        assert_eq!(hash, sha256(FOREIGN));
        assert_ne!(id, chosen(&FOREIGN.replace('!', "?")).unwrap().0);
    }

    #[test]
    fn a_chosen_token_has_24_to_4096_visible_characters_and_no_comma() {
        for text in ["a".repeat(24), "a".repeat(4096)] {
            assert!(chosen(&text).is_ok());
        }
        for text in [
            "a".repeat(23),
            "a".repeat(4097),
            "a,".repeat(20),
            "a ".repeat(20),
        ] {
            assert_eq!(chosen(&text), Err(BadToken::Characters), "{text}");
        }
    }
}
