//! The program `tesseract`: a picture in, words with their places out.
//!
//! It is a process of its own for each page: what it swallows or breaks on stays there
//! (<https://tesseract-ocr.github.io/tessdoc/Command-Line-Usage.html>).

use std::{
    io::{self, Write},
    os::unix::process::ExitStatusExt as _,
    path::Path,
    process::{Command, Output, Stdio},
    thread,
};

use domain::{Bbox, DocumentFault};
use rustix::process::Signal;

use super::{Unreadable, cleanup::Gray};
use crate::sandbox;

/// More pixels than this tell no more of a page's orientation; fewer tell it wrongly.
const ORIENTATION_PIXELS: usize = 9_000_000;

/// Less sure than this of a page's orientation is guessing (`ocr.md` 2).
const SURE: f32 = 2.0;

/// What it says of an error, cut to this many characters.
const MAX_WORDS: usize = 300;

/// What is said of a page that it cannot read within its bounds.
const TOO_MUCH_WORK: &str = "to recognise it takes more work than any page of print needs";
const NO_MEMORY: &str = "to recognise it broke the program for that, or took more memory than `ocr.worker_memory_mib` has";

/// The program, and how it is to read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tesseract<'t> {
    /// Where it is.
    pub program: &'t Path,
    /// What it is told to expect.
    pub languages: &'t str,
}

/// A word as it was recognised.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Recognised {
    /// What it says.
    pub text: String,
    /// The rectangle around its ink.
    pub bbox: Bbox,
    /// How sure the program is, from 0 to 100.
    pub confidence: f32,
    /// Which block, paragraph and line it found the word in.
    pub line: (u32, u32, u32),
}

/// What it is to look for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Search {
    /// Blocks of text.
    Blocks,
    /// Lines, one below the other.
    Lines,
    /// Words wherever they are.
    Sparse,
}

/// How it tells print from paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Thresholding {
    /// One threshold for the page: Otsu's.
    Whole,
    /// One for each neighbourhood: Sauvola's.
    Local,
}

impl Tesseract<'_> {
    /// The words on a page of so many dots per inch.
    pub(super) fn words(
        &self,
        page: &Gray,
        dpi: u32,
        thresholding: Thresholding,
        search: Search,
    ) -> Result<Vec<Recognised>, Unreadable> {
        let dpi = dpi.to_string();
        let search = match search {
            Search::Blocks => "3",
            Search::Lines => "6",
            Search::Sparse => "11",
        };
        let mut arguments = vec!["--dpi", &dpi, "-l", self.languages, "--psm", search];
        if thresholding == Thresholding::Local {
            arguments.extend(["-c", "thresholding_method=2"]);
        }
        arguments.push("tsv");
        let output = self.run(page, &arguments)?;
        if !output.status.success() {
            return Err(self.failed(&output));
        }
        Ok(parse(&String::from_utf8_lossy(&output.stdout)))
    }

    /// By how many quarters clockwise a page has to be turned to be read; `None` where it cannot tell.
    pub(super) fn orientation(&self, page: &Gray, dpi: u32) -> Result<Option<usize>, Unreadable> {
        let times = (page.data.len() as f32 / ORIENTATION_PIXELS as f32)
            .sqrt()
            .ceil();
        let small = page.shrunk(times as usize);
        let dpi = (dpi as f32 / times).round().to_string();
        let output = self.run(&small, &["--dpi", &dpi, "-l", "osd", "--psm", "0"])?;
        // It fails on pages with too few letters.
        Ok(turn(&String::from_utf8_lossy(&output.stdout)))
    }

    fn run(&self, page: &Gray, arguments: &[&str]) -> Result<Output, Unreadable> {
        let mut child = Command::new(self.program)
            .args(["stdin", "stdout"])
            .args(arguments)
            // Its threads spin for each other; pages are read side by side instead.
            .env("OMP_THREAD_LIMIT", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| match error.kind() {
                io::ErrorKind::OutOfMemory => rejected(NO_MEMORY),
                _ => Unreadable::Tesseract(format!("it could not be started: {error}")),
            })?;
        // Where that is not possible, it may work as long as this process may.
        let _ = sandbox::allow_child(&child, page.data.len());
        let input = child.stdin.take();
        let output = thread::scope(|scope| {
            // Fed by a thread: it may write before it has read everything.
            scope.spawn(move || {
                if let Some(mut input) = input {
                    // It closes its input early when it fails; it says so itself.
                    let _ = input
                        .write_all(format!("P5\n{} {}\n255\n", page.width, page.height).as_bytes());
                    let _ = input.write_all(&page.data);
                }
            });
            child.wait_with_output()
        });
        let output = output
            .map_err(|error| Unreadable::Tesseract(format!("it could not be read: {error}")))?;
        match output.status.signal() {
            None => Ok(output),
            Some(signal) if signal == Signal::XCPU.as_raw() => Err(rejected(TOO_MUCH_WORK)),
            Some(_) => Err(rejected(NO_MEMORY)),
        }
    }

    fn failed(&self, output: &Output) -> Unreadable {
        let said = String::from_utf8_lossy(&output.stderr);
        let missing = |language: &&str| said.contains(&format!("/{language}.traineddata"));
        if let Some(language) = self.languages.split('+').find(missing) {
            return Unreadable::Tesseract(format!(
                "the language `{language}` is not installed: on Debian and Ubuntu `apt-get install tesseract-ocr-{}` \
                 brings it, or change `ocr.languages`",
                language.to_lowercase().replace('_', "-")
            ));
        }
        let words: String = said.trim().chars().take(MAX_WORDS).collect();
        Unreadable::Tesseract(format!("it failed ({}): {words}", output.status))
    }
}

fn rejected(words: &str) -> Unreadable {
    Unreadable::Document(DocumentFault::Rejected, words.to_owned())
}

/// Reads the words out of its table: level, page, block, paragraph, line, word, left, top, width, height, confidence, text.
fn parse(table: &str) -> Vec<Recognised> {
    const WORD: &str = "5";
    let mut words = Vec::new();
    for row in table.lines() {
        let fields: Vec<&str> = row.split('\t').collect();
        let [
            level,
            _,
            block,
            paragraph,
            line,
            _,
            left,
            top,
            width,
            height,
            confidence,
            text,
        ] = fields.as_slice()
        else {
            continue;
        };
        let number = |field: &str| field.parse::<u32>().ok();
        let place = || {
            let (left, top) = (number(left)? as f32, number(top)? as f32);
            Some(Bbox {
                l: left,
                t: top,
                r: left + number(width)? as f32,
                b: top + number(height)? as f32,
            })
        };
        let line = || Some((number(block)?, number(paragraph)?, number(line)?));
        if *level != WORD || text.trim().is_empty() {
            continue;
        }
        if let (Some(bbox), Some(line), Ok(confidence)) = (place(), line(), confidence.parse()) {
            words.push(Recognised {
                text: text.trim().to_owned(),
                bbox,
                confidence,
                line,
            });
        }
    }
    words
}

/// Reads out of what it says of a page's orientation how to turn it.
fn turn(said: &str) -> Option<usize> {
    let value = |name: &str| {
        let line = said.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim_start_matches(':').trim().parse::<f32>().ok()
    };
    let degrees = value("Rotate")?;
    (value("Orientation confidence")? > SURE).then_some((degrees / 90.0).round() as usize % 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_out_of_the_table() {
        let table = "level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext\n\
            4\t1\t1\t1\t2\t0\t10\t20\t300\t30\t-1\t\n\
            5\t1\t1\t1\t2\t1\t10\t20\t80\t30\t96.5\tBerth\n\
            5\t1\t1\t1\t2\t2\t100\t20\t80\t30\t95\t \n";

        let words = parse(table);

        let berth = Recognised {
            text: "Berth".to_owned(),
            bbox: Bbox {
                l: 10.0,
                t: 20.0,
                r: 90.0,
                b: 50.0,
            },
            confidence: 96.5,
            line: (1, 1, 2),
        };
        assert_eq!(words, [berth]);
    }

    #[test]
    fn a_turn_is_believed_when_it_is_sure() {
        let said = |sure| {
            format!(
                "Page number: 0\nOrientation in degrees: 90\nRotate: 270\nOrientation confidence: {sure}\n"
            )
        };

        assert_eq!(turn(&said(9.1)), Some(3));
        assert_eq!(turn(&said(0.4)), None);
        assert_eq!(turn("Too few characters. Skipping this page\n"), None);
    }
}
