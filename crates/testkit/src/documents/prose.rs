//! Sentences, headings, names and figures without sense, drawn from lists of words.

use super::{
    chance::Chance,
    words::{
        ACCENTED, ADJECTIVES, ADVERBS, GIVEN, HEADS, JOINTS, MONTHS, NOUNS, OPENINGS, PLACE_TAILS,
        SURNAME_TAILS, UNITS, VERBS,
    },
};

/// Which letters may occur.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Letters {
    /// What a typewriter has: such text is read from pixels.
    Plain,
    /// Curly quotes, dashes and accents too: such text is read from codes.
    Rich,
}

/// A writer.
pub(crate) struct Prose<'a> {
    pub(crate) chance: &'a mut Chance,
    letters: Letters,
}

impl<'a> Prose<'a> {
    pub(crate) fn new(chance: &'a mut Chance, letters: Letters) -> Self {
        Self { chance, letters }
    }

    /// So many sentences.
    pub(crate) fn paragraph(&mut self, sentences: u32) -> String {
        let sentences: Vec<_> = (0..sentences).map(|_| self.sentence()).collect();
        sentences.join(" ")
    }

    /// One sentence with its full stop.
    pub(crate) fn sentence(&mut self) -> String {
        let core = match self.chance.number(0, 9) {
            0 => {
                let (clause, number, unit) = (self.clause(), self.amount(), self.word(UNITS));
                format!("{clause}, some {number} {unit} in all")
            }
            1 => {
                let (opening, name, clause) = (self.word(OPENINGS), self.person(), self.clause());
                format!("{opening} {name} wrote that {clause}")
            }
            2 => {
                let (date, clause) = (self.date(), self.clause());
                format!("on {date} {clause}")
            }
            3 => {
                let (first, second, place) = (self.clause(), self.clause(), self.place());
                format!("{first}; near {place}, {second}")
            }
            4 => {
                let (clause, part, aside) = (self.clause(), self.share(), self.noun_phrase());
                format!("{clause} ({part} of {aside})")
            }
            5 => {
                let (name, clause) = (self.person(), self.clause());
                let (open, close) = self.quotes();
                format!(
                    "{open}{}{close} said {name}",
                    capital(&format!("{clause},"))
                )
            }
            6 => {
                let (clause, noun) = (self.clause(), self.noun_phrase());
                let dash = self.dash();
                format!("{clause}{dash}and so did {noun}")
            }
            7 => {
                let (opening, clause) = (self.word(OPENINGS), self.clause());
                format!("{opening} {clause}")
            }
            8 => {
                let (clause, joint, other) = (self.clause(), self.word(JOINTS), self.clause());
                format!("{clause} {joint} {other}")
            }
            _ => self.clause(),
        };
        format!("{}.", capital(&core))
    }

    /// A heading of two to five words.
    pub(crate) fn heading(&mut self) -> String {
        let (adjective, noun) = (self.word(ADJECTIVES), self.word(NOUNS));
        match self.chance.number(0, 3) {
            0 => format!("The {} {}", capital(adjective), capital(noun)),
            1 => {
                let place = self.place();
                format!("{} at {place}", capital(noun))
            }
            2 => {
                let other = self.word(NOUNS);
                format!("{} and {}", capital(noun), capital(other))
            }
            _ => {
                let other = self.word(NOUNS);
                format!(
                    "{} of the {} {}",
                    capital(noun),
                    capital(adjective),
                    capital(other)
                )
            }
        }
    }

    /// A few words without a full stop, for list items, cells and captions.
    pub(crate) fn phrase(&mut self) -> String {
        let (noun, verb, adverb) = (self.noun_phrase(), self.word(VERBS), self.word(ADVERBS));
        capital(&format!("{noun} {verb} {adverb}"))
    }

    /// One or two words for a cell.
    pub(crate) fn entry(&mut self) -> String {
        let noun = self.word(NOUNS);
        if self.chance.percent(50) {
            return capital(noun);
        }
        let adjective = self.word(ADJECTIVES);
        capital(&format!("{adjective} {noun}"))
    }

    /// One word.
    pub(crate) fn noun(&mut self) -> &'static str {
        self.word(NOUNS)
    }

    pub(crate) fn person(&mut self) -> String {
        if self.letters == Letters::Rich && self.chance.percent(20) {
            return self.word(ACCENTED).to_owned();
        }
        let (given, head, tail) = (self.word(GIVEN), self.word(HEADS), self.word(SURNAME_TAILS));
        format!("{given} {head}{tail}")
    }

    pub(crate) fn place(&mut self) -> String {
        let (head, tail) = (self.word(HEADS), self.word(PLACE_TAILS));
        format!("{head}{tail}")
    }

    /// A number with its thousands set apart.
    pub(crate) fn amount(&mut self) -> String {
        let number = self.chance.number(2, 48_000);
        match number {
            ..1000 => number.to_string(),
            _ => format!("{},{:03}", number / 1000, number % 1000),
        }
    }

    /// A number with two places.
    pub(crate) fn price(&mut self) -> String {
        let (whole, cents) = (self.amount(), self.chance.number(0, 99));
        format!("{whole}.{cents:02}")
    }

    pub(crate) fn date(&mut self) -> String {
        let (day, year) = (self.chance.number(1, 28), self.chance.number(1871, 2024));
        let month = self.word(MONTHS);
        if self.chance.percent(50) {
            format!("{day} {month} {year}")
        } else {
            format!("{month} {day}, {year}")
        }
    }

    /// Lines of a program that never was.
    pub(crate) fn code(&mut self) -> Vec<String> {
        let function = format!("{}_{}", self.noun(), self.noun());
        let (list, item, limit) = (self.noun(), self.noun(), self.chance.number(3, 900));
        vec![
            format!("fn {function}({list}: &[u32]) -> u32 {{"),
            "    let mut total = 0;".to_owned(),
            format!("    for {item} in {list} {{"),
            format!("        if *{item} > {limit} {{"),
            format!("            total += {item} * 2;"),
            "        }".to_owned(),
            "    }".to_owned(),
            "    total".to_owned(),
            "}".to_owned(),
        ]
    }

    fn clause(&mut self) -> String {
        let (subject, verb, object) = (self.noun_phrase(), self.word(VERBS), self.noun_phrase());
        if self.chance.percent(40) {
            let adverb = self.word(ADVERBS);
            return format!("{subject} {verb} {object} {adverb}");
        }
        format!("{subject} {verb} {object}")
    }

    fn noun_phrase(&mut self) -> String {
        let article = self
            .chance
            .pick(&["the", "the", "every", "no", "their", "this"]);
        let noun = self.word(NOUNS);
        if self.chance.percent(45) {
            let adjective = self.word(ADJECTIVES);
            return format!("{article} {adjective} {noun}");
        }
        format!("{article} {noun}")
    }

    fn share(&mut self) -> String {
        let (whole, tenth) = (self.chance.number(1, 99), self.chance.number(0, 9));
        format!("{whole}.{tenth}%")
    }

    fn quotes(&mut self) -> (char, char) {
        match self.letters {
            Letters::Plain => ('"', '"'),
            Letters::Rich => ('\u{201c}', '\u{201d}'),
        }
    }

    fn dash(&mut self) -> &'static str {
        match self.letters {
            Letters::Plain => ", ",
            Letters::Rich => " \u{2013} ",
        }
    }

    fn word(&mut self, of: &[&'static str]) -> &'static str {
        self.chance.pick(of)
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters
        .next()
        .map(|letter| letter.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}
