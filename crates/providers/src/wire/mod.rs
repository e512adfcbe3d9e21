//! What goes over the network, whatever the dialect: who may be dialled, how a request is sent, what a failure means.

mod address;
mod allow;
mod client;
mod egress;
mod events;
mod failure;
mod fetch;
mod filter;
mod frames;
mod framing;
mod given;
mod grant;
mod guard;
mod keys;
mod media;
mod media_type;
mod sse;
mod template;
#[cfg(test)]
pub(crate) mod tests;
mod tls;
mod transport;
mod unpack;

use std::error::Error;

use egress::Egress;

pub(crate) use client::{
    Client, Head, MAX_BODY_BYTES, MAX_PAGES_BYTES, Opened, WireAnswer, WireRequest,
    left_out_headers, secret_header, with_bearer, within,
};
pub(crate) use egress::EgressError;
pub(crate) use events::EventStream;
pub(crate) use failure::{Fault, kind_of_status};
pub(crate) use frames::EXCEPTION;
#[cfg(test)]
pub(crate) use frames::tests as frame_tests;
pub(crate) use framing::{Event, Framing};
pub(crate) use grant::{Grant, ServiceAccount};
pub(crate) use keys::Turns;
pub(crate) use template::address;

/// An error and what caused it, outermost first.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| error.source())
}

/// The cause of all causes.
fn innermost<'a>(error: &'a (dyn Error + 'static)) -> &'a (dyn Error + 'static) {
    causes(error).last().unwrap_or(error)
}
