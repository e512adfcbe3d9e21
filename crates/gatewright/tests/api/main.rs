//! End to end: the real server on a free port, spoken to over HTTP alone. Every request and answer is held to the API
//! document.
#![expect(unreachable_pub, reason = "a test binary has no outside")]
#![expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::too_many_lines,
    clippy::unwrap_used,
    reason = "tests speak to the server from outside, print what it logs, list cases, and fail by panic"
)]

mod aliases;
mod auth;
mod backup;
mod bombs;
mod cache;
mod calls;
mod canaries;
mod cli;
mod clock;
mod contract;
mod costs;
mod datasets;
mod dialects;
mod docs;
mod doctor;
mod embeddings;
mod events;
mod faults;
mod framing;
mod functions;
mod health;
mod inline;
mod isolation;
mod ladder;
mod limits;
mod models;
mod observer;
mod ocr;
mod offline;
mod openai;
mod operation;
mod peers;
mod prices;
mod rerank;
mod retention;
mod rotation;
mod server;
mod spans;
mod ssrf;
mod streams;
mod tools;
