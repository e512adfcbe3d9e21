//! Scripts: which answer an upstream gives to which request.

use std::{collections::VecDeque, fmt, sync::Mutex};

use crate::{Answer, Received};

type ByRequest = dyn Fn(&Received) -> Answer + Send + Sync;

/// What an upstream answers to each request.
///
/// One [`Answer`] is given to everyone; an array or a `Vec` is a queue, after whose end the upstream says 500;
/// [`Script::by`] decides by the request.
pub struct Script(Lines);

enum Lines {
    Always(Box<Answer>),
    Queue(Mutex<VecDeque<Answer>>),
    By(Box<ByRequest>),
}

impl Script {
    /// Returns a script that asks `decide` for each request.
    pub fn by(decide: impl Fn(&Received) -> Answer + Send + Sync + 'static) -> Self {
        Self(Lines::By(Box::new(decide)))
    }

    pub(crate) fn next(&self, request: &Received) -> Answer {
        match &self.0 {
            Lines::Always(answer) => answer.as_ref().clone(),
            Lines::Queue(queue) => queue
                .lock()
                .expect("no holder of the lock panics")
                .pop_front()
                .unwrap_or_else(|| Answer::error(500, "the script has no answer left")),
            Lines::By(decide) => decide(request),
        }
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Script")
    }
}

impl From<Answer> for Script {
    fn from(answer: Answer) -> Self {
        Self(Lines::Always(Box::new(answer)))
    }
}

impl From<Vec<Answer>> for Script {
    fn from(answers: Vec<Answer>) -> Self {
        Self(Lines::Queue(Mutex::new(answers.into())))
    }
}

impl<const N: usize> From<[Answer; N]> for Script {
    fn from(answers: [Answer; N]) -> Self {
        Vec::from(answers).into()
    }
}
