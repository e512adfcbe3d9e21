//! Streams against a running server: what they cost, and what becomes of those whose reader hangs up.
//!
//! `streams latency` compares the time to the first piece of text with the upstream's own and weighs an open stream;
//! `streams hangup` leaves many calls at random moments and looks for what is left of them.

#![expect(clippy::print_stdout, reason = "the report is what the program is for")]

use std::error::Error;

mod clients;
mod hangup;
mod latency;
mod site;
mod verdict;

type Failure = Box<dyn Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    match std::env::args().nth(1).as_deref() {
        Some("latency") => latency::run().await,
        Some("hangup") => hangup::run().await,
        _ => Err("one of two commands is needed: `streams latency` or `streams hangup`".into()),
    }
}
