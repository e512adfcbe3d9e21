//! The process that reads: it opens one document, does with it what it is told, and goes when nobody speaks any more.

use std::io::{self, Read, Write};

use crate::{
    protocol::{self, Open, Order, Reply},
    reader::{ReadPage, Reader, Unreadable},
    sandbox,
};

/// Reads one document for the server that started this process, over standard input and output.
///
/// # Errors
/// A pipe that breaks, or something on it that is not what a server says.
pub fn work() -> io::Result<()> {
    serve(&mut io::stdin().lock(), &mut io::stdout().lock())
}

fn serve(from: &mut impl Read, to: &mut impl Write) -> io::Result<()> {
    let Some(open) = protocol::read(from)? else {
        return Ok(());
    };
    let Open {
        kind,
        limits,
        bounds,
    } = serde_json::from_slice(&open)?;
    let walls = sandbox::enter(&bounds)?;
    let content = protocol::read(from)?.unwrap_or_default();
    sandbox::allow_time(bounds.own_seconds)?;
    let mut reader = match Reader::open(kind, content, &limits) {
        Ok(reader) => reader,
        Err(fault) => return say(to, &Reply::Unreadable(fault)),
    };
    say(to, &Reply::Opened(reader.page_count(), walls))?;
    while let Some(order) = protocol::read(from)? {
        let order = serde_json::from_slice(&order)?;
        sandbox::allow_time(bounds.own_seconds)?;
        match order {
            Order::Read(index, wanted) => {
                let seen = reader.look(index, &wanted);
                let reply = |page: Option<ReadPage>| {
                    page.map_or(Reply::Recognise, |page| Reply::Read(Box::new(page)))
                };
                say(to, &of(seen, reply))?;
            }
            Order::Recognise(index, wanted) => {
                let read = reader.recognise(index, &wanted);
                say(to, &of(read, |page| Reply::Read(Box::new(page))))?;
            }
            Order::Show(index, long_side) => match reader.picture(index, long_side) {
                Ok((png, dimensions)) => {
                    say(to, &Reply::Shown(dimensions))?;
                    protocol::write(to, &png)?;
                }
                Err(fault) => say(to, &Reply::Unreadable(fault))?,
            },
        }
    }
    Ok(())
}

fn of<T>(result: Result<T, Unreadable>, reply: impl FnOnce(T) -> Reply) -> Reply {
    result.map_or_else(Reply::Unreadable, reply)
}

fn say(to: &mut impl Write, reply: &Reply) -> io::Result<()> {
    protocol::write(to, &serde_json::to_vec(reply)?)
}
