//! The command line: which commands there are and what each is given.

mod amount;
mod backup;
mod config;
mod doctor;
mod models;
mod ocr;
mod project;
mod rotate_key;
mod sealed;
mod serve;
mod spans;
mod table;
mod token;

use std::{
    collections::BTreeMap,
    io::{self, IsTerminal, Write},
    path::PathBuf,
    sync::Arc,
};

use clap::{Args, Parser, Subcommand};
use domain::{ProjectName, seams::Store};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::{
    config::{Config, Sources},
    telemetry,
};

/// Stores functions (instructions, schemas, a model) and runs them against language models.
#[derive(Debug, Parser)]
#[command(name = "gatewright", version, arg_required_else_help = true)]
#[command(
    after_help = "`gatewright serve` starts with no configuration at all; `gatewright config` prints what it would use."
)]
pub(crate) struct Cli {
    #[command(flatten)]
    place: Place,
    #[command(subcommand)]
    command: Command,
}

/// Where the configuration and the data are.
#[derive(Debug, Args)]
struct Place {
    /// The configuration file; without one, defaults and environment variables
    #[arg(long, value_name = "FILE", global = true)]
    config: Option<PathBuf>,
    /// The data directory [default: ./gatewright-data]
    #[arg(long, value_name = "DIR", global = true)]
    data_dir: Option<String>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start the server
    Serve {
        /// The address to listen on [default: 127.0.0.1:8080]
        #[arg(long, value_name = "HOST:PORT")]
        listen: Option<String>,
    },
    /// Print the effective configuration and where each value comes from
    Config {
        /// The address to listen on, as `serve` takes it
        #[arg(long, value_name = "HOST:PORT")]
        listen: Option<String>,
    },
    /// Create and list projects, the owners of functions
    #[command(subcommand, arg_required_else_help = true)]
    Project(ProjectCommand),
    /// Create, list and revoke tokens, which open projects
    #[command(subcommand, arg_required_else_help = true)]
    Token(TokenCommand),
    /// Show what models cost, and whose word that is
    #[command(subcommand, arg_required_else_help = true)]
    Models(ModelsCommand),
    /// Read a document: text, tables and pictures into a folder, with no server and no span
    Ocr(ocr::Read),
    /// What a server starts to read a document with
    #[command(hide = true)]
    Worker {
        /// What it is to do
        #[arg(value_parser = ["ocr"])]
        task: String,
    },
    /// Count the costs of recorded calls again
    #[command(subcommand, arg_required_else_help = true)]
    Spans(SpansCommand),
    /// Look whether everything is as a server needs it, and say what to do where it is not
    Doctor(doctor::Examination),
    /// Copy all that is kept into one file, beside a running server too; provider keys stay sealed in it
    Backup(backup::BackUp),
    /// Put a backup into the data directory, while no server runs on it
    Restore(backup::Restore),
    /// Change the master key for a new one, beside a running server too: every provider key is sealed anew
    RotateKey,
}

#[derive(Debug, Subcommand)]
enum ModelsCommand {
    /// List models with their prices, in USD per million tokens
    List(models::List),
    /// Print all that is known of a model's price
    Show(models::Show),
}

#[derive(Debug, Subcommand)]
enum SpansCommand {
    /// Count the costs of recorded calls again by the prices that hold now, beside a running server too
    Reprice(spans::Reprice),
}

#[derive(Debug, Subcommand)]
enum ProjectCommand {
    /// Create a project
    Create {
        /// Its name: letters, digits, dots, underscores and hyphens
        #[arg(value_parser = project_name)]
        name: ProjectName,
    },
    /// List all projects
    List,
}

#[derive(Debug, Subcommand)]
enum TokenCommand {
    /// Create a token and print it, this once; the project is created if it does not exist
    Create(token::Create),
    /// List all tokens: never their secrets
    List,
    /// Revoke a token; a running server honours it within seconds
    Revoke {
        /// The id that `token list` shows
        id: String,
    },
}

impl Cli {
    /// Whether this process was started to read a document for a server.
    pub(crate) const fn is_worker(&self) -> bool {
        matches!(self.command, Command::Worker { .. })
    }
}

/// Does what the command line asks.
pub(crate) async fn run(cli: Cli, environment: BTreeMap<String, String>) -> anyhow::Result<()> {
    let mut sources = Sources {
        file: cli.place.config,
        listen: None,
        data_dir: cli.place.data_dir,
        environment,
    };
    match cli.command {
        Command::Serve { listen } => {
            sources.listen = listen;
            let config = Config::load(&sources)?;
            telemetry::install_logs(&config);
            let metrics = telemetry::install_metrics()?;
            let rendered = metrics.clone();
            let server = Box::pin(serve::run(config, Arc::new(move || rendered.render())));
            tokio::select! {
                done = server => done,
                never = telemetry::keep_up(&metrics) => match never {},
            }
        }
        Command::Config { listen } => {
            sources.listen = listen;
            config::print(&sources)
        }
        Command::Ocr(asked) => {
            let config = Config::load(&sources)?;
            telemetry::install_logs(&config);
            Box::pin(ocr::read(&config, asked)).await
        }
        Command::Worker { .. } => unreachable!("`main` sees to it"),
        Command::Models(ModelsCommand::List(asked)) => models::list(&sources, &asked),
        Command::Models(ModelsCommand::Show(asked)) => models::show(&sources, &asked),
        Command::Spans(SpansCommand::Reprice(asked)) => {
            let (options, own) = crate::config::options_and_prices(&sources)?;
            let opened = open(&sources).await?;
            let done = spans::reprice(&opened, (&options, own), asked).await;
            opened.store.close().await;
            done
        }
        Command::Doctor(asked) => Box::pin(doctor::examine(&sources, &asked)).await,
        Command::Backup(asked) => backup::back_up(&sources, &asked),
        Command::Restore(asked) => backup::restore(&sources, &asked),
        Command::RotateKey => rotate_key::rotate(&sources).await,
        Command::Project(command) => {
            let opened = open(&sources).await?;
            let done = match command {
                ProjectCommand::Create { name } => project::create(&*opened.store, name).await,
                ProjectCommand::List => project::list(&*opened.store).await,
            };
            opened.store.close().await;
            done
        }
        Command::Token(command) => {
            let opened = open(&sources).await?;
            let done = match command {
                TokenCommand::Create(asked) => token::create(&opened, asked).await,
                TokenCommand::List => token::list(&*opened.store).await,
                TokenCommand::Revoke { id } => token::revoke(&*opened.store, &id).await,
            };
            opened.store.close().await;
            done
        }
    }
}

/// The store, beside a server that may be running on it.
struct Opened {
    store: Arc<dyn Store>,
    data_dir: PathBuf,
}

async fn open(sources: &Sources) -> anyhow::Result<Opened> {
    open_store(&crate::config::options(sources)?.store).await
}

async fn open_store(options: &store::Options) -> anyhow::Result<Opened> {
    let stores = store::open_shared(options).await?;
    Ok(Opened {
        store: stores.store,
        data_dir: options.data_dir.clone(),
    })
}

fn project_name(text: &str) -> Result<ProjectName, String> {
    ProjectName::parse(text).map_err(|fault| fault.message)
}

/// Prints to standard output. A reader that has seen enough, such as `head`, is no failure.
fn print(lines: &[String]) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    for line in lines {
        match writeln!(stdout, "{line}") {
            Err(fault) if fault.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
            written => written?,
        }
    }
    Ok(())
}

/// A progress bar, on standard error, and only where somebody looks.
fn bar(template: &str, message: &'static str) -> ProgressBar {
    let target = if io::stderr().is_terminal() {
        ProgressDrawTarget::stderr()
    } else {
        ProgressDrawTarget::hidden()
    };
    let style = ProgressStyle::with_template(template).expect("the template is right");
    ProgressBar::with_draw_target(Some(0), target)
        .with_style(style)
        .with_message(message)
}

/// Says something beside the result, on standard error.
fn hint(text: &str) {
    // A hint that cannot be written helps nobody; the command did what it was asked.
    let _ = writeln!(io::stderr(), "{text}");
}
