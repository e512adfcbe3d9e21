//! Vectors and the angles between them.

/// Whether a vector points anywhere: its length is a number, and not nothing.
pub(in crate::examples) fn has_direction(vector: &[f32]) -> bool {
    dot(vector, vector).sqrt().is_normal()
}

/// The vector at length one; `None` if it points nowhere.
pub(super) fn unit(mut vector: Vec<f32>) -> Option<Vec<f32>> {
    if !has_direction(&vector) {
        return None;
    }
    let length = dot(&vector, &vector).sqrt();
    for part in &mut vector {
        *part /= length;
    }
    Some(vector)
}

/// The sum of the products, part by part. In lanes, so that it is computed several at a time.
pub(super) fn dot(one: &[f32], other: &[f32]) -> f32 {
    const LANES: usize = 8;
    let mut sums = [0.0; LANES];
    let (ones, others) = (one.chunks_exact(LANES), other.chunks_exact(LANES));
    let rest = ones.remainder().iter().zip(others.remainder());
    let rest: f32 = rest.map(|(one, other)| one * other).sum();
    for (one, other) in ones.zip(others) {
        for lane in 0..LANES {
            sums[lane] += one[lane] * other[lane];
        }
    }
    sums.iter().sum::<f32>() + rest
}
