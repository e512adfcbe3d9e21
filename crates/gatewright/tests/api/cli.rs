//! The command line: what each command prints, where, and how it exits.

use std::{fs, process::Output};

use tempfile::TempDir;

use crate::server::binary;

/// A folder to work in, with nothing of the surrounding environment.
struct Shell(TempDir);

impl Shell {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder can be made"))
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        self.run_with(arguments, &[])
    }

    fn run_with(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Ran {
        let output = binary()
            .args(arguments)
            .current_dir(self.0.path())
            .envs(environment.iter().copied())
            .output()
            .expect("the binary was built for this test");
        Ran::from(&output)
    }

    /// Makes a token and gives its text.
    fn token(&self, project: &str) -> String {
        let ran = self.run(&["token", "create", "--project", project]);
        assert_eq!(ran.code, 0, "{ran:?}");
        ran.stdout.trim_end().to_owned()
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Ran {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Ran {
    fn from(output: &Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("output is text");
        Self {
            code: output.status.code().expect("no signal ended it"),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }

    fn expect(code: i32, stdout: &str, stderr: &str) -> Self {
        Self {
            code,
            stdout: stdout.to_owned(),
            stderr: stderr.to_owned(),
        }
    }
}

#[test]
fn no_arguments_are_answered_with_help() {
    let ran = Shell::new().run(&[]);

    assert_eq!(ran.code, 2);
    for command in [
        "serve",
        "config",
        "project",
        "token",
        "--config",
        "--data-dir",
    ] {
        assert!(ran.stderr.contains(command), "{command} in {}", ran.stderr);
    }
}

#[test]
fn the_version_is_the_package_s() {
    let ran = Shell::new().run(&["--version"]);

    let expected = format!("gatewright {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(ran, Ran::expect(0, &expected, ""));
}

#[test]
fn config_prints_each_value_with_its_source() {
    let shell = Shell::new();
    fs::write(
        shell.0.path().join("g.toml"),
        "[calls]\n\ntimeout_seconds = 20",
    )
    .unwrap();

    let ran = shell.run_with(
        &["config", "--config", "g.toml", "--data-dir", "here"],
        &[
            ("OPENAI_API_KEY", "sk-secret"),
            ("GATEWRIGHT_LIMITS__CALLS", "7"),
        ],
    );

    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    for line in [
        "server.listen = \"127.0.0.1:8080\"    # default",
        "calls.timeout_seconds = 20    # file g.toml:3",
        "limits.calls = 7    # environment GATEWRIGHT_LIMITS__CALLS",
        "store.data_dir = \"here\"    # flag --data-dir",
        "providers.openai.key = [secret]    # environment OPENAI_API_KEY",
    ] {
        assert!(
            ran.stdout.lines().any(|found| found == line),
            "{line} in {}",
            ran.stdout
        );
    }
    assert!(!ran.stdout.contains("sk-secret"));
    assert!(!shell.0.path().join("here").exists());
}

#[test]
fn a_wrong_configuration_stops_every_command_with_exit_code_2() {
    let shell = Shell::new();
    fs::write(
        shell.0.path().join("g.toml"),
        "[server]\nlisen = 1\n[limits]\ncalls = 0",
    )
    .unwrap();

    for command in [
        &["serve"][..],
        &["config"],
        &["project", "list"],
        &["token", "list"],
    ] {
        let ran = shell.run(&[command, &["--config", "g.toml"]].concat());

        let stderr = "error: unknown key `server.lisen` (= 1) in g.toml:2; did you mean `server.listen`?\n\
                      error: bad value for `limits.calls` in g.toml:4: 0 is not between 1 and 1099511627776\n";
        assert_eq!(ran, Ran::expect(2, "", stderr), "{command:?}");
    }
}

#[test]
fn what_the_providers_refuse_is_wrong_configuration_too() {
    let shell = Shell::new();
    for command in ["serve", "config"] {
        let ran = shell.run_with(
            &[command],
            &[("GATEWRIGHT_EGRESS__ALLOW", "[\"nonsense\"]")],
        );

        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
        for part in [
            "error: ",
            "`egress.allow`",
            "`nonsense`",
            "GATEWRIGHT_EGRESS__ALLOW",
        ] {
            assert!(ran.stderr.contains(part), "{part} in {}", ran.stderr);
        }
    }
}

#[test]
fn projects_are_created_once_and_listed_by_name() {
    let shell = Shell::new();

    let made = shell.run(&["project", "create", "zebra"]);
    let again = shell.run(&["project", "create", "zebra"]);
    shell.run(&["project", "create", "aardvark"]);
    let listed = shell.run(&["project", "list"]);

    assert_eq!(made, Ran::expect(0, "created project `zebra`\n", ""));
    assert_eq!(
        again,
        Ran::expect(1, "", "error: the project `zebra` exists already\n")
    );
    let first_words: Vec<_> = listed
        .stdout
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(first_words, ["PROJECT", "aardvark", "zebra"]);
}

#[test]
fn a_token_is_printed_alone_and_its_project_made_if_need_be() {
    let shell = Shell::new();

    let first = shell.run(&["token", "create", "--project", "demo"]);
    let second = shell.run(&[
        "token",
        "create",
        "--project",
        "demo",
        "--data-dir",
        "./gatewright-data",
    ]);

    let lines: Vec<&str> = first.stdout.lines().collect();
    let [token] = lines[..] else {
        panic!("{first:?}")
    };
    assert!(token.starts_with("gw_") && token.len() == 69, "{token}");
    let id = &token[3..19];
    let hint =
        format!("token {id} opens project `demo` in ./gatewright-data; it is not shown again\n");
    assert_eq!(first.stderr, format!("created project `demo`\n{hint}"));
    assert_eq!(second.code, 0);
    assert!(!second.stderr.contains("created project"), "{second:?}");
}

#[test]
fn tokens_are_listed_without_their_secrets() {
    let shell = Shell::new();
    let arguments = [
        "token",
        "create",
        "--project",
        "demo",
        "--label",
        "build server",
        "--expires",
        "30d",
    ];
    let made = shell.run(&arguments);
    let other = shell.token("other");

    let listed = shell.run(&["token", "list"]);

    let (token, lines) = (
        made.stdout.trim_end(),
        listed.stdout.lines().collect::<Vec<_>>(),
    );
    assert_eq!(lines.len(), 3, "{listed:?}");
    assert_eq!(
        lines[0].split_whitespace().collect::<Vec<_>>(),
        [
            "ID",
            "PROJECT",
            "LABEL",
            "CREATED",
            "EXPIRES",
            "CALLS/MIN",
            "STATE"
        ]
    );
    assert!(
        lines[1].starts_with(&token[3..19])
            && lines[1].contains("demo  ")
            && lines[1].contains("build server")
    );
    assert!(
        !lines[1].contains("never") && lines[1].ends_with("active"),
        "{}",
        lines[1]
    );
    assert!(
        lines[2].starts_with(&other[3..19]) && lines[2].contains("never"),
        "{}",
        lines[2]
    );
    assert!(!listed.stdout.contains(&token[20..]) && !listed.stdout.contains("gw_"));
}

#[test]
fn a_token_is_revoked_by_its_id_or_by_itself() {
    let shell = Shell::new();
    let (one, two) = (shell.token("demo"), shell.token("demo"));

    let by_id = shell.run(&["token", "revoke", &one[3..19]]);
    let by_itself = shell.run(&["token", "revoke", &two]);
    let again = shell.run(&["token", "revoke", &one[3..19]]);
    let unknown = shell.run(&["token", "revoke", "0000000000000000"]);

    assert_eq!(
        by_id,
        Ran::expect(0, &format!("revoked token {}\n", &one[3..19]), "")
    );
    assert_eq!(
        by_itself,
        Ran::expect(0, &format!("revoked token {}\n", &two[3..19]), "")
    );
    assert_eq!(again.code, 0);
    let refused =
        "error: there is no token with that id; `gatewright token list` shows all of them\n";
    assert_eq!(unknown, Ran::expect(1, "", refused));
    let listed = shell.run(&["token", "list"]);
    assert_eq!(
        listed
            .stdout
            .lines()
            .filter(|line| line.ends_with("revoked"))
            .count(),
        2,
        "{}",
        listed.stdout
    );
}

#[test]
fn nonsense_arguments_are_refused_with_exit_code_2() {
    let shell = Shell::new();
    for (arguments, word) in [
        (
            &["token", "create", "--project", "a b"][..],
            "a project's name is",
        ),
        (
            &["token", "create", "--project", "a", "--expires", "soon"],
            "30d",
        ),
        (
            &["token", "create", "--project", "a", "--label", ""],
            "a label is",
        ),
        (&["token", "create"], "--project"),
        (&["project", "create", "a/b"], "a project's name is"),
        (&["serve", "--port", "80"], "--port"),
        (&["frobnicate"], "frobnicate"),
    ] {
        let ran = shell.run(arguments);

        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{arguments:?}");
        assert!(
            ran.stderr.starts_with("error: ") && ran.stderr.contains(word),
            "{arguments:?}: {}",
            ran.stderr
        );
    }
    assert!(!shell.0.path().join("gatewright-data").exists());
}

#[test]
fn models_are_listed_by_provider() {
    let shell = Shell::new();

    let none = shell.run(&["models", "list"]);
    let one = shell.run_with(&["models", "list"], &[("VOYAGE_API_KEY", "x")]);
    let named = shell.run(&["models", "list", "--provider", "voyage"]);
    let all = shell.run(&["models", "list", "--all"]);

    let table = "MODEL           FOR        INPUT  OUTPUT  TAKES  PRICE FROM\n\
                 offline/echo    chat       0      0              book\n\
                 offline/embed   embedding  0      0       8191   book\n\
                 offline/json    chat       0      0              book\n\
                 offline/rerank  rerank     0      0              book\n";
    assert_eq!(none, Ran::expect(0, table, ""));
    let words = |ran: &Ran, name: &str| {
        let line = ran.stdout.lines().find(|line| line.starts_with(name));
        line.map(|line| {
            line.split_whitespace()
                .skip(1)
                .collect::<Vec<_>>()
                .join(" ")
        })
    };
    for ran in [&one, &named, &all] {
        let expected = "embedding 0.06 0 32000 book";
        assert_eq!(words(ran, "voyage/voyage-4 ").as_deref(), Some(expected));
    }
    assert_eq!(
        words(&one, "offline/json").is_some(),
        words(&named, "offline/json").is_none()
    );
    assert_eq!(words(&named, "openai/"), None);
    assert_eq!((one.stderr.as_str(), named.stderr.as_str()), ("", ""));
    let count = all.stdout.lines().count() - 1;
    let closing = format!("{count} models; not listed: ");
    let ending =
        " prices that hold in one region alone (`gatewright models show NAME --region REGION`)\n";
    assert!(
        all.stderr.starts_with(&closing) && all.stderr.ends_with(ending),
        "{}",
        all.stderr
    );
    assert!(
        words(&all, "azure/gpt-4o ")
            .unwrap()
            .ends_with("book, about")
    );
    assert_eq!(
        words(&all, "mistral/mistral-ocr-latest").unwrap(),
        "ocr 0.004 per page book"
    );
    assert!(!shell.0.path().join("gatewright-data").exists());
}

#[test]
fn a_list_of_models_says_when_there_is_none_and_has_what_the_operators_file_has() {
    let shell = Shell::new();
    let path = shell.0.path().join("prices.toml");
    let prices = "[models.\"house/*\"]\ninput = 2\noutput = \"8.5\"\n";
    std::fs::write(&path, prices).unwrap();
    let house = [
        ("GATEWRIGHT_PRICES__FILE", path.to_str().unwrap()),
        (
            "GATEWRIGHT_PROVIDERS__HOUSE__API_BASE",
            "http://localhost:1",
        ),
    ];

    let nobody = shell.run(&["models", "list", "--provider", "nope"]);
    let unpriced = shell.run(&["models", "list", "--provider", "tei"]);
    let named = shell.run_with(&["models", "list", "--provider", "house"], &house);
    let configured = shell.run_with(&["models", "list"], &house);

    assert_eq!((nobody.code, nobody.stdout.as_str()), (1, ""));
    assert!(
        nobody.stderr.contains("unknown provider `nope`"),
        "{}",
        nobody.stderr
    );
    assert_eq!((unpriced.code, unpriced.stdout.as_str()), (0, ""));
    assert!(unpriced.stderr.contains("no price is known"));
    let table = "MODEL    FOR  INPUT  OUTPUT  TAKES  PRICE FROM\n\
                 house/*       2      8.5            file\n";
    assert_eq!(named, Ran::expect(0, table, ""));
    assert!(configured.stdout.contains("house/*"));
}

#[test]
fn a_model_is_shown_with_its_price_and_whose_word_that_is() {
    let shell = Shell::new();
    let prices = "[models.\"openai/gpt-4o\"]\ninput = 2\noutput = \"8.5\"\nabove = { tokens = 9, input = 3, output = 4 }\n";
    fs::write(shell.0.path().join("prices.toml"), prices).unwrap();
    let file = [("GATEWRIGHT_PRICES__FILE", "prices.toml")];

    let long = shell.run(&["models", "show", "openai/gpt-5.4"]);
    let dated = shell.run(&["models", "show", "openai/gpt-4o-2099-01-31"]);
    let region = shell.run(&[
        "models",
        "show",
        "bedrock/deepseek.v3.2",
        "--region",
        "eu-north-1",
    ]);
    let eu_north = "https://bedrock-runtime.eu-north-1.amazonaws.com";
    let in_the_north = [
        ("GATEWRIGHT_PROVIDERS__BEDROCK__API_BASE", eu_north),
        ("GATEWRIGHT_PROVIDERS__BEDROCK__REGION", "us-east-1"),
    ];
    let show = |name| shell.run_with(&["models", "show", name], &in_the_north);
    let at_address = show("bedrock/deepseek.v3.2");
    let elsewhere_in_the_world = show("bedrock/amazon.nova-lite-v1:0");
    let about = shell.run(&["models", "show", "azure/gpt-4o"]);
    let page = shell.run(&["models", "show", "mistral/mistral-ocr-latest"]);
    let free = shell.run(&["models", "show", "openrouter/a/b:free"]);
    let own = shell.run_with(&["models", "show", "OpenAI/gpt-4o"], &file);
    let elsewhere = shell.run_with(
        &["models", "show", "openai/gpt-4o"],
        &[(
            "GATEWRIGHT_PROVIDERS__OPENAI__API_BASE",
            "http://localhost:1",
        )],
    );
    let listed = shell.run_with(
        &["models", "list", "--provider", "openai"],
        &[
            file[0],
            (
                "GATEWRIGHT_PROVIDERS__OPENAI__API_BASE",
                "http://localhost:1",
            ),
        ],
    );
    let unknown = shell.run(&["models", "show", "openai/gtp-4o"]);
    let nonsense = shell.run(&["models", "show", "gpt-4o"]);

    for (ran, parts) in [
        (
            &long,
            &[
                "openai/gpt-5.4\nprice from the book (20",
                "): openai/gpt-5.4, by its own name\n  input           2.5 USD per million tokens\n  cached input    0.25 USD",
                "  for inputs of more than 272000 tokens\n  input           5 USD",
                "  takes           1050000 tokens\n  gives           128000 tokens\n  knows           schema, tools, vision\n",
                "  source          https://developers.openai.com/api/docs/pricing\n",
            ][..],
        ),
        (
            &dated,
            &[
                "): openai/gpt-4o, by the rule `dated`\n",
                "  exact           no: costs have the status `estimated`, for the book does not know this version\n",
            ],
        ),
        (
            &at_address,
            &[
                "): bedrock/deepseek.v3.2 in eu-north-1, by its own name\n  input           0.74 USD",
            ],
        ),
        (
            &elsewhere_in_the_world,
            &[
                "  exact           no: costs have the status `estimated`, for the book does not know the price in this region\n",
            ],
        ),
        (
            &region,
            &[
                "): bedrock/deepseek.v3.2 in eu-north-1, by its own name\n  input           0.74 USD",
            ],
        ),
        (
            &about,
            &[
                "  note            a deployment's name",
                "  exact           no: costs have the status `estimated`\n",
            ],
        ),
        (&page, &["\n  per page        0.004 USD\n"]),
        (&free, &["nothing is charged, by the rule `free :free`"]),
        (
            &own,
            &[
                "openai/gpt-4o\nprice from `prices.file` (prices.toml-",
                "which goes before the book\n  input           2 USD per million tokens\n  output          8.5 USD",
                "  for inputs of more than 9 tokens\n  input           3 USD",
                "\nprice from the book (20",
            ],
        ),
        (&listed, &["\nopenai/gpt-4o  "]),
        (
            &elsewhere,
            &["the book does not hold here: `providers.openai.api_base` is another address"],
        ),
    ] {
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
        for part in parts {
            assert!(ran.stdout.contains(part), "{part:?} in {}", ran.stdout);
        }
    }
    assert_eq!((unknown.code, unknown.stdout.as_str()), (1, ""));
    assert!(
        unknown.stderr.contains("the book has `openai/gpt-4o`, "),
        "{}",
        unknown.stderr
    );
    assert_eq!(nonsense.code, 1);
}

#[test]
fn a_bad_price_is_named_with_its_file_and_key() {
    let shell = Shell::new();
    fs::write(
        shell.0.path().join("prices.toml"),
        "[models.\"openai/gpt-4o\"]\ninput = \"two\"\noutput = 1\n",
    )
    .unwrap();

    for command in [
        &["serve"][..],
        &["config"],
        &["models", "list"],
        &["spans", "reprice", "--since", "2026-01-01"],
    ] {
        let ran = shell.run_with(command, &[("GATEWRIGHT_PRICES__FILE", "prices.toml")]);

        let stderr = "error: prices.toml:2: bad value for `models.\"openai/gpt-4o\".input`: an amount in USD such as \
                      \"2.5\" is needed\n";
        assert_eq!(ran, Ran::expect(2, "", stderr), "{command:?}");
    }
    assert!(!shell.0.path().join("gatewright-data").exists());
}
