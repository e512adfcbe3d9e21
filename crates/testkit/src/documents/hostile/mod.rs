//! Documents that are broken, or that are made to break what reads them.

mod bombs;
mod files;
mod loops;
mod nonsense;
mod pictures;

use super::Row;

pub(crate) const RECIPES: &[Row] = &[
    ("user-password", files::user_password),
    ("zero-pages", files::zero_pages),
    ("empty", files::empty),
    ("garbage", files::garbage),
    ("garbage-with-mark", files::garbage_with_mark),
    ("html-named-pdf", files::html),
    ("cut-at-90-percent", files::cut),
    ("page-tree-loop", loops::page_tree),
    ("page-tree-in-itself", loops::page_tree_in_itself),
    ("page-tree-deep", loops::page_tree_deep),
    ("form-recursion", loops::form),
    ("pattern-recursion", loops::pattern),
    ("glyph-recursion", loops::glyph),
    ("xref-loop", loops::xref),
    ("object-stream-loop", loops::object_stream),
    ("content-bomb", bombs::content),
    ("image-bomb", bombs::image),
    ("filter-chain", bombs::filters),
    ("path-storm", bombs::paths),
    ("deep-arrays", bombs::deep_arrays),
    ("deep-content", bombs::deep_content),
    ("hundred-thousand-pages", bombs::pages),
    ("huge-page-box", nonsense::huge_box),
    ("empty-page-box", nonsense::empty_box),
    ("user-unit-absurd", nonsense::user_unit),
    ("page-count-absurd", nonsense::page_count),
    ("font-garbage", nonsense::font),
    ("image-claims-huge", nonsense::image_claims),
    ("image-without-pixels", nonsense::image_without_pixels),
    ("jbig2-garbage", nonsense::jbig2),
    ("jpx-garbage", nonsense::jpx),
    ("ccitt-absurd", nonsense::ccitt),
    ("png-claims-huge", pictures::png_huge),
    ("png-without-pixels", pictures::png_without_pixels),
    ("png-cut", pictures::png_cut),
    ("jpeg-claims-huge", pictures::jpeg_huge),
    ("gif-claims-huge", pictures::gif_huge),
    ("bmp-claims-huge", pictures::bmp_huge),
    ("tiff-claims-huge", pictures::tiff_huge),
    ("tiff-loop", pictures::tiff_loop),
];
