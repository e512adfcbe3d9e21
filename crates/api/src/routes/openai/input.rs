//! What `/v2/openai/embeddings` is given to embed, taken in piece by piece: a body may hold millions of tokens, and what
//! serde keeps of one that it reads twice is thirty times as long.

use std::fmt;

use engine::MAX_TEXTS;
use serde::{
    Deserialize, Deserializer,
    de::{Error, IgnoredAny, SeqAccess, Visitor},
};

/// What is embedded.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Input {
    /// Texts, one more than may be at most.
    Texts(Vec<String>),
    /// Tokens, in one list or in several.
    Tokens,
}

/// One item of a list.
enum Item {
    Text(String),
    /// A number, or a list of them.
    Tokens,
}

impl<'de> Deserialize<'de> for Input {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(InputVisitor)
    }
}

struct InputVisitor;

impl<'de> Visitor<'de> for InputVisitor {
    type Value = Input;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string, or a list of strings")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Input, E> {
        Ok(Input::Texts(vec![text.to_owned()]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Input, A::Error> {
        let mut texts = Vec::new();
        let mut are_tokens = false;
        // One text too many is enough to know that there are.
        while texts.len() <= MAX_TEXTS
            && !are_tokens
            && let Some(item) = items.next_element()?
        {
            match item {
                Item::Text(text) => texts.push(text),
                Item::Tokens => are_tokens = true,
            }
        }
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(if are_tokens {
            Input::Tokens
        } else {
            Input::Texts(texts)
        })
    }
}

impl<'de> Deserialize<'de> for Item {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ItemVisitor)
    }
}

struct ItemVisitor;

impl<'de> Visitor<'de> for ItemVisitor {
    type Value = Item;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Item, E> {
        Ok(Item::Text(text.to_owned()))
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Item, E> {
        Ok(Item::Text(text))
    }

    fn visit_u64<E: Error>(self, _token: u64) -> Result<Item, E> {
        Ok(Item::Tokens)
    }

    fn visit_i64<E: Error>(self, _token: i64) -> Result<Item, E> {
        Ok(Item::Tokens)
    }

    fn visit_f64<E: Error>(self, _token: f64) -> Result<Item, E> {
        Ok(Item::Tokens)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut tokens: A) -> Result<Item, A::Error> {
        while tokens.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Item::Tokens)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use serde::{
        de::{
            IntoDeserializer,
            value::{Error as Fault, SeqDeserializer},
        },
        forward_to_deserialize_any,
    };

    use super::*;

    /// An item that counts how often one like it is read, and not passed over.
    struct Counted<'a>(&'a Cell<usize>, Kind);

    #[derive(Clone, Copy)]
    enum Kind {
        Text,
        Token,
        Tokens,
    }

    impl<'de> Deserializer<'de> for Counted<'_> {
        type Error = Fault;

        fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
            self.0.set(self.0.get() + 1);
            match self.1 {
                Kind::Text => visitor.visit_str("a"),
                Kind::Token => visitor.visit_u64(1),
                Kind::Tokens => {
                    let tokens = (0..1000).map(|_| Counted(self.0, Kind::Token));
                    visitor.visit_seq(SeqDeserializer::new(tokens))
                }
            }
        }

        fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
            visitor.visit_unit()
        }

        forward_to_deserialize_any! {
            bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
            newtype_struct seq tuple tuple_struct map struct enum identifier
        }
    }

    impl IntoDeserializer<'_, Fault> for Counted<'_> {
        type Deserializer = Self;

        fn into_deserializer(self) -> Self {
            self
        }
    }

    #[test]
    fn no_more_is_read_than_tells_what_it_is() {
        for (kind, most) in [
            (Kind::Text, MAX_TEXTS + 1),
            (Kind::Token, 1),
            (Kind::Tokens, 1),
        ] {
            let read = Cell::new(0);
            let items = (0..5000).map(|_| Counted(&read, kind));

            let input = Input::deserialize(SeqDeserializer::<_, Fault>::new(items)).unwrap();

            assert_eq!(read.get(), most);
            let texts = vec!["a".to_owned(); MAX_TEXTS + 1];
            let expected = match kind {
                Kind::Text => Input::Texts(texts),
                Kind::Token | Kind::Tokens => Input::Tokens,
            };
            assert_eq!(input, expected);
        }
    }

    #[test]
    fn texts_tokens_and_neither_are_told_apart() {
        let read = |text: &str| serde_json::from_str::<Input>(text).ok();
        let texts = |texts: &[&str]| {
            let texts = texts.iter().map(|text| (*text).to_owned());
            Some(Input::Texts(texts.collect()))
        };

        assert_eq!(read(r#""a""#), texts(&["a"]));
        assert_eq!(read(r#"["a","\n"]"#), texts(&["a", "\n"]));
        assert_eq!(read("[]"), texts(&[]));
        for tokens in ["[1,-2]", "[1.0]", "[[1,2],[]]", r#"["a",1]"#, r#"[1,"a"]"#] {
            assert_eq!(read(tokens), Some(Input::Tokens), "{tokens}");
        }
        for neither in ["1", "true", "{}", "[null]", "[{}]", r#"["a",true]"#] {
            assert_eq!(read(neither), None, "{neither}");
        }
    }
}
