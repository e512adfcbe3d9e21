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
