//! SVG to PNG, with text that is the same on every machine.
//!
//! Follows resvg, a static renderer; its text is set in a Latin subset of DejaVu Sans that is part of the program.
//! Differs from a browser: it uses no other font, so letters beyond U+017F are missing.
//! Leaves out embedded pictures.

use resvg::tiny_skia::{Color, Pixmap, Transform};
use resvg::usvg::{Options, Tree};
use std::fmt;

const FONT: &[u8] = include_bytes!("font/DejaVuSans-Latin.ttf");

/// The error for a picture that cannot become a PNG.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PngError {
    /// The picture has no pixels, or too many.
    Size {
        /// Width, px.
        width: u32,
    },
    /// The input is not SVG.
    Svg(String),
}

impl fmt::Display for PngError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PngError::Size { width } => write!(f, "width of {width} pixels; expected 100 to 20000"),
            PngError::Svg(e) => write!(f, "not a picture: {e}"),
        }
    }
}

impl std::error::Error for PngError {}

/// Renders a picture `width` pixels wide on white.
///
/// # Errors
///
/// A width out of range, and input that is not SVG.
pub fn png(svg: &str, width: u32) -> Result<Vec<u8>, PngError> {
    if !(100..=20_000).contains(&width) {
        return Err(PngError::Size { width });
    }
    let mut options = Options::default();
    options.fontdb_mut().load_font_data(FONT.to_vec());
    options.fontdb_mut().set_sans_serif_family("DejaVu Sans");
    let tree = Tree::from_str(svg, &options).map_err(|e| PngError::Svg(e.to_string()))?;
    let size = tree.size();
    let scale = width as f32 / size.width();
    let height = (size.height() * scale).ceil() as u32;
    let mut pixels = Pixmap::new(width, height).ok_or(PngError::Size { width })?;
    pixels.fill(Color::WHITE);
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixels.as_mut());
    pixels.encode_png().map_err(|e| PngError::Svg(e.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn svg(text: &str) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"100\" height=\"50\" font-family=\"Arial, sans-serif\">{text}</svg>"
        )
    }

    #[test]
    fn letters_are_drawn_without_any_font_of_the_machine() {
        let empty = png(&svg(""), 400).unwrap();
        let words = png(&svg("<text x=\"5\" y=\"30\">12.5°N quito</text>"), 400).unwrap();
        let shown = Pixmap::decode_png(&words).unwrap();
        assert_eq!((shown.width(), shown.height()), (400, 200));
        let dark = shown.pixels().iter().filter(|p| p.red() < 64).count();
        assert!((1000..8000).contains(&dark), "{dark} dark pixels");
        assert_eq!(Pixmap::decode_png(&empty).unwrap().pixels().iter().filter(|p| p.red() < 255).count(), 0);
    }

    #[test]
    fn mistakes_are_told() {
        assert_eq!(png(&svg(""), 0), Err(PngError::Size { width: 0 }));
        assert!(matches!(png("no svg", 100), Err(PngError::Svg(_))));
    }
}
