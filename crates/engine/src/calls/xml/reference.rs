//! Where references in a schema lead.

use std::collections::HashMap;

use serde_json::Value;

/// The places in a schema that have a name of their own.
pub(super) fn anchors(root: &Value) -> HashMap<&str, &Value> {
    let mut anchors = HashMap::new();
    let mut rest = vec![root];
    while let Some(value) = rest.pop() {
        match value {
            Value::Object(words) => {
                for word in ["$anchor", "$dynamicAnchor"] {
                    let anchor = words.get(word).and_then(Value::as_str);
                    anchors.extend(anchor.map(|anchor| (anchor, value)));
                }
                rest.extend(words.values());
            }
            Value::Array(values) => rest.extend(values),
            _ => {}
        }
    }
    anchors
}

/// A fragment of a URI as the text it stands for.
pub(super) fn decoded(fragment: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let digits = after.get(..2).filter(|_| byte == b'%');
        let number = digits
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(number.unwrap_or(byte));
        rest = if number.is_some() { &after[2..] } else { after };
    }
    String::from_utf8(bytes).ok()
}
