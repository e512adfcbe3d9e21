//! One descriptor in reserve, so that clients are refused where there is no other one. Without it they would be kept waiting.

use std::{fs::File, io, time::Duration};

use tokio::net::TcpListener;

/// The errors that say so: of the process, and of the system.
const EMFILE: i32 = 24;
const ENFILE: i32 = 23;
/// Whoever could not be let in is still there.
const AT_ONCE: Duration = Duration::from_millis(10);

/// A file that is open for nothing else.
pub(crate) struct Reserve(Option<File>);

impl Reserve {
    pub(crate) fn new() -> Self {
        Self(File::open("/dev/null").ok())
    }

    /// Closes the door in front of the next client, if `error` says that there was no descriptor for it; `false` if that
    /// was not to be.
    pub(crate) async fn refuse(&mut self, error: &io::Error, listener: &TcpListener) -> bool {
        let is_ours = matches!(error.raw_os_error(), Some(EMFILE | ENFILE));
        if !is_ours || self.0.take().is_none() {
            return false;
        }
        let refused = tokio::time::timeout(AT_ONCE, listener.accept()).await;
        let was_refused = matches!(refused, Ok(Ok(_)));
        drop(refused);
        *self = Self::new();
        was_refused
    }
}
