//! How many dots per inch a picture states.

/// Of a PNG: its `pHYs` chunk, in dots per metre (<https://www.w3.org/TR/png-3/#11pHYs>).
pub(super) fn png(content: &[u8]) -> Option<u32> {
    let mut at = 8;
    // It stands before the pixels.
    while let Some(head) = content.get(at..at + 8) {
        let length = u32::from_be_bytes([head[0], head[1], head[2], head[3]]) as usize;
        match &head[4..8] {
            b"pHYs" => {
                let data = content.get(at + 8..at + 17)?;
                let dots = u32::from_be_bytes([data[0], data[1], data[2], data[3]]);
                let per_inch = (f64::from(dots) * 0.0254).round() as u32;
                return (data[8] == 1).then_some(per_inch).filter(|&dpi| dpi > 0);
            }
            b"IDAT" => return None,
            _ => at = at.checked_add(length)?.checked_add(12)?,
        }
    }
    None
}

/// Of a JPEG: its JFIF header (ITU T.871, 10.1).
pub(super) fn jpeg(content: &[u8]) -> Option<u32> {
    let head = content.get(2..18)?;
    if head[..2] != [0xff, 0xe0] || &head[4..9] != b"JFIF\0" {
        return None;
    }
    let dots = u32::from(u16::from_be_bytes([head[12], head[13]]));
    match head[11] {
        1 => Some(dots),
        2 => Some((f64::from(dots) * 2.54).round() as u32),
        _ => None,
    }
    .filter(|&dpi| dpi > 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_per_metre_and_per_centimetre_are_told_per_inch() {
        let mut content = b"\x89PNG\r\n\x1a\n\0\0\0\x09pHYs".to_vec();
        content.extend(7874_u32.to_be_bytes());
        content.extend(7874_u32.to_be_bytes());
        content.extend([1, 0, 0, 0, 0]);
        let jfif = |unit, dots: u16| {
            let mut content = b"\xff\xd8\xff\xe0\0\x10JFIF\0\x01\x01".to_vec();
            content.push(unit);
            content.extend(dots.to_be_bytes());
            content.extend(dots.to_be_bytes());
            content
        };

        assert_eq!(png(&content), Some(200));
        assert_eq!(jpeg(&jfif(1, 300)), Some(300));
        assert_eq!(jpeg(&jfif(2, 118)), Some(300));
        assert_eq!(jpeg(&jfif(0, 1)), None);
    }
}
