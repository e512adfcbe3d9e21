//! Tokens: how many a model makes of a text, for where its provider does not say (`interface.md` 16).
//!
//! Counted with the vocabularies of OpenAI's models, which are built in. For other models the nearest of them gives an
//! estimate. A vocabulary is loaded when it is first needed, and never by a thread that others wait for.

use std::sync::{Arc, LazyLock};

use domain::{ChatRequest, EmbeddingRequest, Part, RerankRequest, Usage};
use tiktoken::{
    CoreBpe as Tokenizer,
    encoding::{cl100k_base, o200k_base},
};

/// So much is counted where it stands, in about a millisecond at the worst; more than that beside the workers.
const AT_ONCE_BYTES: usize = 4 * 1024;
/// So much of all texts together is counted; what is left out is taken to have as many tokens to a byte.
const COUNTED_BYTES: usize = 1024 * 1024;
/// So much of an answer is kept to be counted, beside the text itself: as much for every stream that is open.
const KEPT_BYTES: usize = 32 * 1024;

/// What texts are cut into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Vocabulary {
    /// Of `gpt-4o` and what came after it.
    O200k,
    /// Of `gpt-4`, `gpt-3.5` and the embedding models.
    Cl100k,
}

/// Beginnings of the names of models with the older vocabulary, or one that was made from it.
const OLDER: [&str; 8] = [
    "gpt-3.5",
    "gpt-35",
    "gpt-4-",
    "text-embedding-",
    "llama-3",
    "meta-llama-3",
    "qwen",
    "davinci-002",
];

/// Some ten and twenty mebibytes, once they are loaded.
static CL100K: LazyLock<Tokenizer> = LazyLock::new(|| load(cl100k_base));
static O200K: LazyLock<Tokenizer> = LazyLock::new(|| load(o200k_base));

/// Loads a vocabulary on a thread of its own: what it took beside the tables themselves goes back with the thread.
fn load(vocabulary: fn() -> Tokenizer) -> Tokenizer {
    let loading = std::thread::spawn(vocabulary);
    loading.join().expect("a built-in vocabulary is readable")
}

impl Vocabulary {
    /// The vocabulary of a model by what its host calls it; the newer one, where nothing is known.
    pub(crate) fn of(model: &str) -> Self {
        let name = model.rsplit('/').next().unwrap_or(model).to_lowercase();
        let name = name.strip_prefix("ft:").unwrap_or(&name);
        if name == "gpt-4" || OLDER.iter().any(|older| name.starts_with(older)) {
            Self::Cl100k
        } else {
            Self::O200k
        }
    }

    /// How many tokens there are in all texts together. Above a mebibyte, about how many.
    pub(crate) fn count<'t>(self, texts: impl IntoIterator<Item = &'t str>) -> u64 {
        let tokenizer = self.tokenizer();
        let (mut tokens, mut counted, mut left_out) = (0, 0, 0);
        for text in texts {
            let cut = &text[..text.floor_char_boundary(COUNTED_BYTES - counted)];
            tokens += tokenizer.count(cut) as u64;
            counted += cut.len();
            left_out += text.len() - cut.len();
        }
        tokens + in_proportion(tokens, (counted, left_out))
    }

    /// How many tokens a text has, if that is more than `limit`.
    pub(crate) fn count_above(self, text: &str, limit: usize) -> Option<u64> {
        // No token is shorter than a byte.
        if text.len() <= limit {
            return None;
        }
        Some(self.count([text])).filter(|&count| count > limit as u64)
    }

    fn tokenizer(self) -> &'static LazyLock<Tokenizer> {
        match self {
            Self::O200k => &O200K,
            Self::Cl100k => &CL100K,
        }
    }

    /// Whether so many bytes are counted in no time.
    fn is_quick(self, bytes: usize) -> bool {
        bytes <= AT_ONCE_BYTES && LazyLock::get(self.tokenizer()).is_some()
    }
}

/// Does what counts `bytes` of text where nobody else waits for it; `None` if it never came to its end.
pub(crate) async fn beside<T: Send + 'static>(
    vocabulary: Vocabulary,
    bytes: usize,
    count: impl FnOnce(Vocabulary) -> T + Send + 'static,
) -> Option<T> {
    if vocabulary.is_quick(bytes) {
        return Some(count(vocabulary));
    }
    let counting = tokio::task::spawn_blocking(move || count(vocabulary));
    counting.await.ok()
}

/// What was sent to a model.
#[derive(Debug, Clone)]
pub(crate) enum Sent {
    /// A conversation.
    Chat(Arc<ChatRequest>),
    /// Texts to embed.
    Embedding(Arc<EmbeddingRequest>),
    /// Texts to put in order.
    Rerank(Arc<RerankRequest>),
    /// A document, which is billed by pages.
    Document,
}

impl Sent {
    /// The conversation, if it is one.
    pub(crate) fn chat(&self) -> Option<&ChatRequest> {
        match self {
            Self::Chat(chat) => Some(chat),
            Self::Embedding(_) | Self::Rerank(_) | Self::Document => None,
        }
    }

    fn texts(&self) -> Box<dyn Iterator<Item = &str> + '_> {
        match self {
            Self::Chat(chat) => {
                let parts = chat.messages.iter().flat_map(|message| &message.parts);
                Box::new(parts.filter_map(|part| match part {
                    Part::Text(text) => Some(text.as_str()),
                    Part::Image(_) | Part::Audio(_) | Part::File(_) => None,
                }))
            }
            Self::Embedding(request) => Box::new(request.input.iter().map(String::as_str)),
            Self::Rerank(request) => Box::new(request.documents.iter().map(String::as_str)),
            Self::Document => Box::new(std::iter::empty()),
        }
    }

    fn bytes(&self) -> usize {
        let query = match self {
            Self::Rerank(request) => request.query.len(),
            Self::Chat(_) | Self::Embedding(_) | Self::Document => 0,
        };
        query + self.texts().map(str::len).sum::<usize>()
    }

    fn count(&self, vocabulary: Vocabulary) -> u64 {
        let texts = vocabulary.count(self.texts());
        match self {
            // The model reads the query once beside each text.
            Self::Rerank(request) => {
                let query = vocabulary.count([request.query.as_str()]);
                texts + query * request.documents.len() as u64
            }
            Self::Chat(_) | Self::Embedding(_) | Self::Document => texts,
        }
    }
}

/// What a model said: as much of it as is counted, and how much more there was.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Received {
    kept: String,
    left_out_bytes: usize,
    /// The images, of a model that makes nothing else.
    pub(crate) images: u64,
}

impl Received {
    /// All of it at once.
    pub(crate) fn of(text: &str) -> Self {
        let mut received = Self::default();
        received.push(text);
        received
    }

    /// A further piece.
    pub(crate) fn push(&mut self, text: &str) {
        let kept = text.floor_char_boundary(KEPT_BYTES.saturating_sub(self.kept.len()));
        self.kept.push_str(&text[..kept]);
        self.left_out_bytes += text.len() - kept;
    }

    fn count(&self, vocabulary: Vocabulary) -> u64 {
        let tokens = vocabulary.count([self.kept.as_str()]);
        tokens + in_proportion(tokens, (self.kept.len(), self.left_out_bytes))
    }
}

/// What a provider does not say: the tokens of what was sent to `model` and of what came back.
pub(crate) async fn usage(model: &str, sent: Sent, received: Received) -> Usage {
    let (bytes, images) = ((sent.bytes(), received.kept.len()), received.images);
    let count = move |vocabulary| (sent.count(vocabulary), received.count(vocabulary));
    let counted = beside(Vocabulary::of(model), bytes.0 + bytes.1, count).await;
    // Better a rough guess than none.
    let guess = |bytes: usize| (bytes as u64).div_ceil(4);
    let (input_tokens, output_tokens) = counted.unwrap_or((guess(bytes.0), guess(bytes.1)));
    Usage {
        input_tokens,
        output_tokens,
        images,
        ..Usage::default()
    }
}

/// The tokens of a rest, if it has as many to a byte as what was counted.
fn in_proportion(tokens: u64, (counted, rest): (usize, usize)) -> u64 {
    (tokens * rest as u64).div_ceil((counted as u64).max(1))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use domain::{Message, Role};

    use super::*;

    /// As published with the tokenizer: <https://github.com/openai/openai-cookbook>, "How to count tokens".
    #[test]
    fn published_examples_have_their_published_counts() {
        let cases = [
            ("", 0, 0),
            ("tiktoken is great!", 6, 6),
            ("antidisestablishmentarianism", 6, 6),
            ("2 + 2 = 4", 7, 7),
            ("お誕生日おめでとう", 9, 8),
        ];

        for (text, older, newer) in cases {
            assert_eq!(Vocabulary::Cl100k.count([text]), older, "{text}");
            assert_eq!(Vocabulary::O200k.count([text]), newer, "{text}");
        }
    }

    #[test]
    fn a_model_has_the_vocabulary_of_its_family() {
        for name in [
            "gpt-4",
            "gpt-4-turbo",
            "openai/gpt-3.5-turbo",
            "text-embedding-3-small",
            "ft:gpt-3.5-turbo:acme::1",
            "meta-llama/Llama-3.3-70B-Instruct",
        ] {
            assert_eq!(Vocabulary::of(name), Vocabulary::Cl100k, "{name}");
        }
        for name in [
            "gpt-4o",
            "gpt-4.1-mini",
            "gpt-5",
            "o3",
            "claude",
            "echo",
            "",
        ] {
            assert_eq!(Vocabulary::of(name), Vocabulary::O200k, "{name}");
        }
    }

    #[test]
    fn what_is_above_a_limit_is_counted_and_nothing_else() {
        let above = |text: &str| Vocabulary::Cl100k.count_above(text, 8191);

        assert_eq!(above(&" a".repeat(8191)), None);
        assert_eq!(above(&" a".repeat(8192)), Some(8192));
        assert_eq!(above(&"a".repeat(8191)), None);
        assert_eq!(above(&"a".repeat(20_000)), None);
    }

    #[test]
    fn long_texts_are_counted_in_proportion() {
        let text = " a".repeat(COUNTED_BYTES);
        let mut received = Received::default();
        for _ in 0..4 {
            received.push(&" a".repeat(KEPT_BYTES / 4));
        }

        assert_eq!(
            Vocabulary::O200k.count([text.as_str(), " a"]),
            COUNTED_BYTES as u64 + 1
        );
        assert_eq!(received.kept.len(), KEPT_BYTES);
        assert_eq!(received.count(Vocabulary::O200k), KEPT_BYTES as u64);
    }

    #[tokio::test]
    async fn a_query_counts_once_for_each_text() {
        let request = RerankRequest {
            query: "tiktoken is great!".to_owned(),
            documents: vec!["2 + 2 = 4".to_owned(), "2 + 2 = 4".to_owned()],
            top_k: None,
            max_chunks_per_doc: None,
        };
        let chat = ChatRequest {
            messages: vec![Message::text(Role::User, "2 + 2 = 4")],
            ..ChatRequest::default()
        };

        let reranked = usage("any", Sent::Rerank(request.into()), Received::default()).await;
        let answered = usage("any", Sent::Chat(chat.into()), Received::of("2 + 2 = 4")).await;

        assert_eq!((reranked.input_tokens, reranked.output_tokens), (26, 0));
        assert_eq!((answered.input_tokens, answered.output_tokens), (7, 7));
    }

    /// A text of twice the length may take about twice as long, whatever is in it.
    #[test]
    fn no_text_is_slow() {
        let time = |piece: &str, length: usize| {
            let text = piece.repeat(length / piece.len());
            let once = || {
                let began = Instant::now();
                Vocabulary::O200k.count([text.as_str()]);
                began.elapsed()
            };
            (0..3).map(|_| once()).min().unwrap_or(Duration::MAX)
        };

        for piece in ["a", " ", "\n", "\u{301}", "1", "=", "ab", " \n", "日"] {
            let (short, long) = (time(piece, 32 * 1024), time(piece, 256 * 1024));
            assert!(long < short * 24, "{piece:?}: {short:?}, then {long:?}");
        }
    }
}
