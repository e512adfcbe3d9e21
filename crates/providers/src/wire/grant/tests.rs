//! Tokens asked for over real sockets, and the words they are asked for with.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use aws_lc_rs::signature::{KeyPair, RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    sync::Mutex,
};

use super::*;
use crate::wire::tests::{client, target};

/// Made for these tests, and of no other use.
const TEST_ACCOUNT: &str = include_str!("../../../tests/test_service_account.json");

/// A host for tokens: its answers in order, the last again and again.
struct Host {
    target: Target,
    asked: Arc<AtomicUsize>,
    forms: Arc<Mutex<Vec<String>>>,
}

impl Host {
    async fn saying(answers: &[(u16, &str)]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/token", listener.local_addr().unwrap());
        let answers: Vec<String> = answers
            .iter()
            .map(|(status, body)| {
                let length = body.len();
                format!("HTTP/1.1 {status} X\r\ncontent-length: {length}\r\nretry-after: 7\r\nconnection: close\r\n\r\n{body}")
            })
            .collect();
        let asked = Arc::new(AtomicUsize::new(0));
        let forms = Arc::new(Mutex::new(Vec::new()));
        let (counted, told) = (asked.clone(), forms.clone());
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let number = counted.fetch_add(1, Ordering::SeqCst);
                let mut read = Vec::new();
                let is_whole = |read: &[u8]| {
                    let text = String::from_utf8_lossy(read).to_lowercase();
                    let (head, body) = text.split_once("\r\n\r\n")?;
                    let (_, length) = head.split_once("content-length: ")?;
                    let length: usize = length.lines().next()?.parse().ok()?;
                    (body.len() >= length).then_some(())
                };
                while is_whole(&read).is_none() {
                    read.push(stream.read_u8().await.unwrap());
                }
                let form = String::from_utf8(read).unwrap();
                let (_, form) = form.split_once("\r\n\r\n").unwrap();
                told.lock().await.push(form.to_owned());
                let answer = answers.get(number).or(answers.last()).unwrap();
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        let mut target = target("http://localhost");
        target.settings.insert(TOKEN_URL.to_owned(), url);
        Self {
            target,
            asked,
            forms,
        }
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

fn account() -> Grant {
    Grant::ServiceAccount(ServiceAccount::read(TEST_ACCOUNT).unwrap())
}

fn secret(secret: &str) -> Grant {
    Grant::ClientSecret {
        url: "http://elsewhere/token".to_owned(),
        id: "the client".to_owned(),
        secret: Secret::new(secret),
        scope: "https://scope/.default",
    }
}

async fn ask(client: &Client, host: &Host, grant: &Grant) -> Result<String, (Kind, String)> {
    let token = client.token(&host.target, grant).await;
    let token = token.map(|token| token.expose().to_owned());
    token.map_err(|error| (error.kind, error.reason))
}

const FINE: (u16, &str) = (200, r#"{"access_token":"t1","expires_in":3599}"#);
const OTHER: (u16, &str) = (200, r#"{"access_token":"t2","expires_in":3599}"#);

#[tokio::test]
async fn a_token_is_asked_for_once_for_many_requests_at_once() {
    let (client, host, grant) = (client(&[]), Host::saying(&[FINE, OTHER]).await, account());

    let asking = (0..20).map(|_| ask(&client, &host, &grant));
    let tokens = futures_util::future::join_all(asking).await;

    assert_eq!(tokens, vec![Ok("t1".to_owned()); 20]);
    assert_eq!(ask(&client, &host, &grant).await.unwrap(), "t1");
    assert_eq!(host.asked(), 1);
}

#[tokio::test]
async fn a_token_is_asked_for_anew_before_it_ends() {
    let (client, host, grant) = (client(&[]), Host::saying(&[FINE, OTHER]).await, account());
    let mut tokens = Vec::new();

    // Time stands still only while nobody waits for the network.
    for minutes in [0, 54, 2] {
        tokio::time::pause();
        tokio::time::advance(Duration::from_mins(minutes)).await;
        tokio::time::resume();
        tokens.push(ask(&client, &host, &grant).await.unwrap());
    }

    assert_eq!(tokens, ["t1", "t1", "t2"]);
    assert_eq!(host.asked(), 2);
}

#[tokio::test]
async fn an_error_is_everybodys_and_is_not_kept() {
    let refusal = (401, r#"{"error":"invalid_grant"}"#);
    let (client, host, grant) = (client(&[]), Host::saying(&[refusal, FINE]).await, account());

    let asking = (0..5).map(|_| ask(&client, &host, &grant));
    let refused = futures_util::future::join_all(asking).await;

    let auth = Err((Kind::Auth, "provider_auth".to_owned()));
    assert_eq!(refused, vec![auth; 5]);
    assert_eq!(host.asked(), 1);
    assert_eq!(ask(&client, &host, &grant).await.unwrap(), "t1");
}

#[tokio::test]
async fn every_refusal_has_its_kind() {
    let cases = [
        (400, r#"{"error":"invalid_grant"}"#, Kind::Auth),
        (403, "no", Kind::Auth),
        (429, "{}", Kind::RateLimited),
        (503, "<html>", Kind::Overloaded),
        (302, "", Kind::Protocol),
        (200, "{}", Kind::Protocol),
        (200, r#"{"access_token":""}"#, Kind::Protocol),
        (200, "<html>", Kind::Protocol),
    ];

    for (status, body, kind) in cases {
        let host = Host::saying(&[(status, body)]).await;
        let error = client(&[]).token(&host.target, &account()).await;
        let error = error.unwrap_err();
        assert_eq!(error.kind, kind, "{status} {body}");
        let wait = error.retry_after.map(|wait| wait.as_secs());
        assert_eq!(wait, (status != 200).then_some(7), "{status}");
    }
}

#[tokio::test]
async fn each_credential_has_a_token_of_its_own() {
    let (client, host) = (client(&[]), Host::saying(&[FINE, OTHER]).await);

    let tokens = [
        ask(&client, &host, &secret("a")).await.unwrap(),
        ask(&client, &host, &secret("b")).await.unwrap(),
        ask(&client, &host, &secret("a")).await.unwrap(),
    ];

    assert_eq!(tokens, ["t1", "t2", "t1"]);
    let forms = host.forms.lock().await;
    assert_eq!(
        forms[0],
        "grant_type=client_credentials&client_id=the+client&client_secret=a&scope=https%3A%2F%2Fscope%2F.default"
    );
}

#[test]
fn a_token_that_ends_soon_is_given_out_for_half_of_its_time() {
    let cases = [
        (json!(3600), 3300),
        (json!("3599"), 3299),
        (json!(60), 30),
        (json!(0), 0),
        (Value::Null, 3300),
        (json!(-1), 3300),
        (json!(u64::MAX), 86_100),
    ];

    for (seconds, given_out) in cases {
        assert_eq!(given_out_for(&seconds).as_secs(), given_out, "{seconds}");
    }
}

#[test]
fn the_assertion_is_signed_and_says_who_asks_for_what() {
    let account = ServiceAccount::read(TEST_ACCOUNT).unwrap();
    let now = Timestamp::from_micros(1_795_348_800_000_000);

    let assertion = account.assertion("https://a/token", now).unwrap();

    let (said, signature) = assertion.rsplit_once('.').unwrap();
    let (head, claims) = said.split_once('.').unwrap();
    let read = |text: &str| -> Value {
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text).unwrap()).unwrap()
    };
    assert_eq!(read(head), json!({"alg": "RS256", "typ": "JWT"}));
    let expected = json!({
        "iss": "test@test-project.iam.gserviceaccount.com",
        "scope": "https://www.googleapis.com/auth/cloud-platform",
        "aud": "https://a/token",
        "iat": 1_795_348_800,
        "exp": 1_795_352_400,
    });
    assert_eq!(read(claims), expected);
    let key = account.key().unwrap();
    let key = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, key.public_key().as_ref());
    let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
    key.verify(said.as_bytes(), &signature).unwrap();
}

#[test]
fn a_key_that_cannot_be_used_is_refused() {
    let with_key = |key: &str| {
        let text = json!({"client_email": "a", "private_key": key}).to_string();
        let account = ServiceAccount::read(&text).unwrap();
        let now = Timestamp::from_micros(0);
        let refused = account.assertion("x", now).unwrap_err();
        (refused.kind, refused.reason)
    };
    let unusable = (
        Kind::Misconfigured,
        "the `private_key` of the service account is no RSA key in PKCS #8".to_owned(),
    );

    for key in ["", "AAAA", "-----BEGIN X-----\n%\n-----END X-----"] {
        assert_eq!(with_key(key), unusable, "{key}");
    }
    for text in ["{}", "no", r#"{"type":"authorized_user"}"#] {
        let refused = ServiceAccount::read(text).unwrap_err();
        assert_eq!(refused.kind, Kind::Misconfigured, "{text}");
    }
}

#[tokio::test]
async fn a_token_of_one_place_is_none_of_another() {
    let client = client(&[]);
    for grant in [secret("s"), account()] {
        let here = Host::saying(&[FINE]).await;
        let there = Host::saying(&[OTHER]).await;

        assert_eq!(ask(&client, &here, &grant).await.unwrap(), "t1");
        assert_eq!(ask(&client, &there, &grant).await.unwrap(), "t2");
        assert_eq!((here.asked(), there.asked()), (1, 1));
    }
}
