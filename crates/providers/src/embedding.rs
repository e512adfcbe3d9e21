//! Vectors as a plain list of lists of numbers, in the order of the texts.

use domain::JsonObject;
use serde_json::Value;

use crate::wire::Fault;

/// The length of vectors that was asked for under one of those names, if a sensible one was.
pub(crate) fn dimensions(options: &JsonObject, names: &[&str]) -> Option<usize> {
    let given = names.iter().find_map(|name| options.get(*name))?;
    given.text().parse().ok()
}

/// The vectors of an answer that has them in one list.
pub(crate) fn listed(list: &Value) -> Result<Vec<&Value>, Fault> {
    let list = list.as_array().map(|list| list.iter().collect());
    list.ok_or_else(|| Fault::protocol("the provider's answer has no vectors"))
}

/// Reads one vector per text, each as long as was asked for.
pub(crate) fn vectors(
    list: &[&Value],
    asked: usize,
    dimensions: Option<usize>,
) -> Result<Vec<Vec<f32>>, Fault> {
    if list.len() != asked {
        let found = list.len();
        let words = format!("the provider answered {asked} texts with {found} vectors");
        return Err(Fault::protocol(words));
    }
    let vectors = list.iter().map(|item| {
        let vector = vector(item)
            .ok_or_else(|| Fault::protocol("a vector of the provider's answer is none"))?;
        if dimensions.is_some_and(|dimensions| dimensions != vector.len()) {
            let found = vector.len();
            let words = format!("the provider answered with vectors of length {found}");
            return Err(Fault::protocol(words));
        }
        Ok(vector)
    });
    vectors.collect()
}

fn vector(item: &Value) -> Option<Vec<f32>> {
    #[expect(clippy::cast_possible_truncation, reason = "a vector is 32-bit floats")]
    let read = |number: &Value| number.as_f64().map(|number| number as f32);
    let vector: Vec<f32> = item.as_array()?.iter().map(read).collect::<Option<_>>()?;
    let is_sound = !vector.is_empty() && vector.iter().all(|number| number.is_finite());
    is_sound.then_some(vector)
}
