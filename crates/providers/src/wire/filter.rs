//! Makes a provider's words fit to be told: no secret in them, and no more than 1 KiB.

use std::sync::LazyLock;

use domain::{Json, JsonObject, seams::Target};
use regex::Regex;

const MAX_BYTES: usize = 1024;
/// Below this a header's value is a word, not a secret.
const MIN_SECRET_BYTES: usize = 8;
/// Below this a line of a secret is found by chance elsewhere.
const MIN_LINE_BYTES: usize = 16;
const SECRET: &str = "[secret]";
/// Of a key that is an object: the members that are no secrets.
const PUBLIC: [&str; 10] = [
    "type",
    "project_id",
    "client_email",
    "client_id",
    "tenant_id",
    "auth_uri",
    "token_uri",
    "auth_provider_x509_cert_url",
    "client_x509_cert_url",
    "universe_domain",
];

/// What keys look like, cut or masked ones too.
static KEY_LIKE: LazyLock<Regex> = LazyLock::new(|| {
    let patterns = [
        r"(?i:bearer)\s+[^\s\x22',;]+",
        r"(?-u:\b)(?:sk|pk|rk|gsk|csk|xai|pplx|nvapi|fw|gw|hf|r8|tgp|key|AKIA|ghp|glpat)[-_][A-Za-z0-9_.*\-]{6,}",
        r"(?-u:\b)AIza[A-Za-z0-9_*\-]{10,}",
        r"(?-u:\b)eyJ[A-Za-z0-9_\-]{10,}\.[A-Za-z0-9_.\-]+",
        r"(?s:-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$))",
    ];
    Regex::new(&patterns.join("|")).expect("the pattern is a constant")
});

/// The words without the call's own secrets and what looks like a key, cut to 1 KiB.
pub(super) fn filtered(words: &str, target: &Target) -> String {
    let mut words = words.to_owned();
    let keys = target.keys.iter().map(|key| &key.secret);
    let keys = target.key.iter().chain(keys).map(domain::Secret::expose);
    let key: Vec<&str> = keys.filter(|key| !key.is_empty()).collect();
    let members: Vec<String> = key.iter().flat_map(|key| members(key)).collect();
    let headers = target.extra_headers.iter().map(|(_, value)| value);
    let headers = headers.filter(|value| value.len() >= MIN_SECRET_BYTES);
    let secrets = key.into_iter().chain(members.iter().map(String::as_str));
    for secret in secrets.chain(headers) {
        words = words.replace(secret, SECRET);
    }
    let words = KEY_LIKE.replace_all(&words, SECRET);
    let words = words.trim();
    words[..words.floor_char_boundary(MAX_BYTES)].to_owned()
}

/// The secrets in a key that is an object, such as a service account's: each as it is, as JSON has it, and by its lines.
fn members(key: &str) -> Vec<String> {
    let members: JsonObject = serde_json::from_str(key).unwrap_or_default();
    let mut secrets = Vec::new();
    for (name, value) in members {
        let text = value.as_string().unwrap_or_default();
        if text.len() < MIN_SECRET_BYTES || PUBLIC.contains(&name.as_str()) {
            continue;
        }
        let lines = text.lines().filter(|line| line.len() >= MIN_LINE_BYTES);
        let escaped = Json::of(&text).text().trim_matches('"').to_owned();
        let lines: Vec<String> = lines.map(str::to_owned).collect();
        secrets.extend([text.clone(), escaped].into_iter().chain(lines));
    }
    secrets
}

#[cfg(test)]
mod tests {
    use domain::Secret;

    use super::*;
    use crate::wire::tests::target;

    #[test]
    fn secrets_do_not_get_through() {
        let mut target = target("http://localhost");
        target.key = Some(Secret::new("hunter2"));
        target.extra_headers =
            serde_json::from_str(r#"{"x-custom-auth":"correct horse","x-plan":"pro"}"#).unwrap();
        let cases = [
            ("your key hunter2 is bad", "your key [secret] is bad"),
            (
                "header correct horse, plan pro",
                "header [secret], plan pro",
            ),
            ("got sk-abc***********xyz", "got [secret]"),
            ("got 'sk-proj-A1b2C3d4E5'.", "got '[secret]'."),
            (
                "sent authorization: Bearer abc.def",
                "sent authorization: [secret]",
            ),
            ("gw_0123456789abcdef_0123456789 no", "[secret] no"),
            ("AIzaSyA1234567890abcdefg", "[secret]"),
            ("a risk-free sk-etch", "a risk-free sk-etch"),
        ];

        for (words, told) in cases {
            assert_eq!(filtered(words, &target), told);
        }
    }

    #[test]
    fn a_key_of_several_parts_does_not_get_through_by_any_of_them() {
        let mut target = target("http://localhost");
        target.key = Some(Secret::new(
            r#"{"type":"service_account","project_id":"project-1","private_key_id":"0123abcd4567","private_key":"-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\nAQEFAASCBKcwggSjAgEAAoIB\n-----END PRIVATE KEY-----\n","client_email":"a@project-1.iam.gserviceaccount.com","client_secret":"Q~tall tales/1","short":"abc"}"#,
        ));
        let cases = [
            (
                "the secret 'Q~tall tales/1' is wrong",
                "the secret '[secret]' is wrong",
            ),
            ("kid 0123abcd4567 of project-1", "kid [secret] of project-1"),
            ("near AQEFAASCBKcwggSjAgEAAoIB.", "near [secret]."),
            (
                r"got -----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\nAQEFAASCBKcwggSjAgEAAoIB\n-----END PRIVATE KEY-----\n!",
                "got [secret]!",
            ),
            (
                "another's: -----BEGIN RSA PRIVATE KEY-----\nMIIabc\n-----END RSA PRIVATE KEY----- and more",
                "another's: [secret] and more",
            ),
            (
                "cut: -----BEGIN EC PRIVATE KEY-----\nMIIabc",
                "cut: [secret]",
            ),
            (
                "a@project-1.iam.gserviceaccount.com has no abc",
                "a@project-1.iam.gserviceaccount.com has no abc",
            ),
        ];

        for (words, told) in cases {
            assert_eq!(filtered(words, &target), told);
        }
        target.key = Some(Secret::new(
            r#"{"access_key_id":"AKIDEXAMPLE","secret_access_key":"wJalrXUtnFEMI/K7MDENG"}"#,
        ));
        assert_eq!(
            filtered("signed by wJalrXUtnFEMI/K7MDENG", &target),
            "signed by [secret]"
        );
    }

    #[test]
    fn words_are_cut_after_their_secrets_are_gone() {
        let target = target("http://localhost");
        let words = format!("{}sk-0123456789abcdef{}", "å".repeat(510), "b".repeat(500));

        let told = filtered(&words, &target);

        assert_eq!(told, format!("{}[sec", "å".repeat(510)));
        assert_eq!(filtered(&"å".repeat(600), &target), "å".repeat(512));
        assert_eq!(
            filtered(&format!("a{}", "å".repeat(600)), &target).len(),
            1023
        );
    }
}
