//! One process that reads, from the server's side: started, spoken to, and ended with all that it has started itself.

use std::{
    io,
    os::unix::process::ExitStatusExt as _,
    process::{ExitStatus, Stdio},
    sync::Once,
    time::Duration,
};

use domain::{Dimensions, Document, DocumentFault};
use rustix::process::{Pid, Signal, kill_process_group};
use serde::Serialize;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    process::{Child, ChildStdin, ChildStdout, Command},
    time::timeout,
};

use crate::{
    protocol::{self, Bounds, Open, Order, Reply, Walls},
    reader::{Limits, ReadPage, Unreadable, Wanted},
};

/// The program that runs, whatever has become of its file.
const OURSELVES: &str = "/proc/self/exe";
/// Its command line.
pub(crate) const COMMAND: [&str; 2] = ["worker", "ocr"];
/// How long it may take to start and to open a document.
const OPENING: Duration = Duration::from_secs(20);

/// A document, open in a process of its own.
pub(crate) struct Process {
    child: Child,
    to: ChildStdin,
    from: ChildStdout,
    pages: u32,
    walls: Walls,
}

/// What became of something that was asked of it.
pub(crate) type Answered<T> = Result<T, Failure>;

/// Why nothing came of it.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It says so.
    Unreadable(Unreadable),
    /// It went without a word, or was ended.
    Broken(DocumentFault, String),
    /// It cannot be started.
    Unstarted(io::Error),
}

impl From<Unreadable> for Failure {
    fn from(fault: Unreadable) -> Self {
        Self::Unreadable(fault)
    }
}

impl Process {
    /// Starts a process and has it open a document.
    pub(crate) async fn open(
        document: &Document,
        limits: &Limits,
        bounds: &Bounds,
    ) -> Answered<Self> {
        let mut child = Command::new(OURSELVES)
            .args(COMMAND)
            .env_clear()
            .envs(environment())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // What it says there may hold words of the document.
            .stderr(Stdio::null())
            .current_dir("/")
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(Failure::Unstarted)?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (to, from) = pipes.expect("both are piped");
        let mut process = Self {
            child,
            to,
            from,
            pages: 0,
            walls: Walls::Missing,
        };
        let open = Open {
            kind: document.kind,
            limits: limits.clone(),
            bounds: bounds.clone(),
        };
        let opening = async {
            process.say(&open).await?;
            process.send(&document.content).await?;
            process.hear().await
        };
        let opened = timeout(OPENING, opening).await;
        match process.settled(opened).await? {
            Reply::Opened(pages, walls) => {
                tell_of(walls);
                process.pages = pages;
                process.walls = walls;
                Ok(process)
            }
            reply => Err(process.nonsense(&reply)),
        }
    }

    /// Whether the kernel keeps it off disk and network.
    pub(crate) const fn walls(&self) -> Walls {
        self.walls
    }

    /// How many pages the document has.
    pub(crate) const fn pages(&self) -> u32 {
        self.pages
    }

    /// What stands on a page; `None` where it has to be recognised.
    pub(crate) async fn read(
        &mut self,
        index: u32,
        wanted: &Wanted,
        within: Duration,
    ) -> Answered<Option<ReadPage>> {
        let order = Order::Read(index, Box::new(wanted.clone()));
        match self.order(&order, within).await? {
            Reply::Read(page) => Ok(Some(*page)),
            Reply::Recognise => Ok(None),
            reply => Err(self.nonsense(&reply)),
        }
    }

    /// What stands on a page by its looks.
    pub(crate) async fn recognise(
        &mut self,
        index: u32,
        wanted: &Wanted,
        within: Duration,
    ) -> Answered<ReadPage> {
        let order = Order::Recognise(index, Box::new(wanted.clone()));
        match self.order(&order, within).await? {
            Reply::Read(page) => Ok(*page),
            reply => Err(self.nonsense(&reply)),
        }
    }

    /// A page as a PNG.
    pub(crate) async fn show(
        &mut self,
        index: u32,
        long_side: u32,
        within: Duration,
    ) -> Answered<(Vec<u8>, Dimensions)> {
        match self.order(&Order::Show(index, long_side), within).await? {
            Reply::Shown(dimensions) => {
                let png = timeout(within, self.receive()).await;
                let png = match png {
                    Ok(Ok(png)) => png,
                    Ok(Err(_)) => return Err(self.gone().await),
                    Err(_) => return Err(late()),
                };
                Ok((png, dimensions))
            }
            reply => Err(self.nonsense(&reply)),
        }
    }

    async fn order(&mut self, order: &Order, within: Duration) -> Answered<Reply> {
        let asking = async {
            self.say(order).await?;
            self.hear().await
        };
        let heard = timeout(within, asking).await;
        self.settled(heard).await
    }

    async fn settled(
        &mut self,
        heard: Result<io::Result<Reply>, tokio::time::error::Elapsed>,
    ) -> Answered<Reply> {
        match heard {
            Ok(Ok(Reply::Unreadable(fault))) => Err(fault.into()),
            Ok(Ok(reply)) => Ok(reply),
            Ok(Err(_)) => Err(self.gone().await),
            Err(_) => Err(late()),
        }
    }

    /// Why it does not speak any more.
    async fn gone(&mut self) -> Failure {
        let ended = timeout(Duration::from_secs(1), self.child.wait()).await;
        let signal = ended
            .ok()
            .and_then(Result::ok)
            .and_then(|status: ExitStatus| status.signal());
        let words = if signal == Some(Signal::XCPU.as_raw()) {
            "it takes more work than any document needs"
        } else {
            "the document could not be processed within limits"
        };
        Failure::Broken(DocumentFault::Rejected, words.to_owned())
    }

    fn nonsense(&self, reply: &Reply) -> Failure {
        tracing::error!(
            pid = self.child.id(),
            reply = reply.name(),
            "a process that reads documents gave another answer than it was asked for"
        );
        let words = "the document could not be processed".to_owned();
        Failure::Broken(DocumentFault::Rejected, words)
    }

    async fn say(&mut self, message: &impl Serialize) -> io::Result<()> {
        self.send(&serde_json::to_vec(message)?).await
    }

    async fn hear(&mut self) -> io::Result<Reply> {
        Ok(serde_json::from_slice(&self.receive().await?)?)
    }

    async fn send(&mut self, frame: &[u8]) -> io::Result<()> {
        self.to.write_all(&protocol::length(frame)?).await?;
        self.to.write_all(frame).await?;
        self.to.flush().await
    }

    async fn receive(&mut self) -> io::Result<Vec<u8>> {
        let mut head = [0; 4];
        self.from.read_exact(&mut head).await?;
        let length = protocol::read_length(head)?;
        // Grown as bytes come: a length alone takes no memory.
        let mut frame = Vec::new();
        (&mut self.from)
            .take(length as u64)
            .read_to_end(&mut frame)
            .await?;
        if frame.len() < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(frame)
    }
}

impl Drop for Process {
    /// With `tesseract`, if that is at work.
    fn drop(&mut self) {
        let id = self.child.id().and_then(|id| i32::try_from(id).ok());
        if let Some(group) = id.and_then(Pid::from_raw) {
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

fn late() -> Failure {
    let words = "it took longer than it may (`ocr.page_timeout_seconds`)".to_owned();
    Failure::Broken(DocumentFault::TimedOut, words)
}

/// What programs need to be found, and one core for each.
pub(crate) fn environment() -> [(&'static str, &'static str); 4] {
    [
        // The allocator reserves a gibibyte at once, which would be all that the process may have (KiB).
        ("MIMALLOC_ARENA_RESERVE", "16384"),
        ("PATH", "/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin"),
        ("OMP_THREAD_LIMIT", "1"),
        ("LC_ALL", "C.UTF-8"),
    ]
}

/// Says once what the kernel cannot do.
fn tell_of(walls: Walls) {
    static TOLD: Once = Once::new();
    let what = match walls {
        Walls::Up => return,
        Walls::Partly => "this kernel can only in part keep",
        Walls::Missing => "this kernel cannot keep",
    };
    TOLD.call_once(|| {
        tracing::warn!("{what} processes that read documents off disk and network (landlock); they are bound in memory and time");
    });
}
