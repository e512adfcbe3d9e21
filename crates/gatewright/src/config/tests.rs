use std::fs;

use tempfile::TempDir;

use super::*;

/// A token as operators choose them.
const TOKEN: &str = "a-declared-token-of-30-letters";
const HIDDEN: &str = "sk-do-not-print-this-0123456789";

/// Sources with a file of this text, which messages call `FILE`.
struct Given {
    folder: TempDir,
    sources: Sources,
}

fn given(file: &str, environment: &[(&str, &str)]) -> Given {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gatewright.toml");
    fs::write(&path, file).unwrap();
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let sources = Sources {
        file: Some(path),
        environment: environment.iter().map(own).collect(),
        ..Sources::default()
    };
    Given { folder, sources }
}

impl Given {
    fn load(&self) -> Config {
        Config::load(&self.sources).unwrap()
    }

    fn problems(&self) -> Vec<String> {
        let Problems(problems) = Config::load(&self.sources).unwrap_err();
        problems.iter().map(|problem| self.short(problem)).collect()
    }

    fn lines(&self) -> Vec<String> {
        self.load()
            .lines()
            .iter()
            .map(|line| self.short(line))
            .collect()
    }

    fn short(&self, text: &str) -> String {
        let path = self.folder.path().join("gatewright.toml");
        text.replace(path.to_str().unwrap(), "FILE")
    }
}

#[test]
fn nothing_given_is_a_whole_configuration() {
    let config = Config::load(&Sources::default()).unwrap();

    let options = config.options.clone();
    assert_eq!(options.server.listen, "127.0.0.1:8080".parse().unwrap());
    assert_eq!(options.store.data_dir, PathBuf::from("./gatewright-data"));
    assert_eq!(options.store.durability, store::Durability::Standard);
    assert_eq!(options.limits.body_bytes, 32 << 20);
    assert_eq!(options.limits.buffered_bytes, 512 << 20);
    assert_eq!(options.models, engine::ModelsOptions::default());
    assert_eq!(options.log.format, LogFormat::Auto);
    assert!(options.providers.is_empty());
    assert_eq!(
        config.engine_options().request_timeout,
        Duration::from_mins(2)
    );
    assert!(config.provider_options().keys.is_empty());
    assert!(config.bootstrap_tokens.is_empty());
    assert_eq!(config.log_filter, "info");
}

#[test]
fn each_layer_goes_before_the_one_below() {
    let file =
        "[server]\nlisten = \"127.0.0.1:1\"\ndrain_seconds = 1\n[store]\ndata_dir = \"file\"";
    let environment = [
        ("GATEWRIGHT_SERVER__LISTEN", "127.0.0.1:2"),
        ("GATEWRIGHT_STORE__DATA_DIR", "environment"),
    ];
    let mut given = given(file, &environment);
    given.sources.data_dir = Some("flag".to_owned());

    let lines = given.lines();

    for line in [
        "store.data_dir = \"flag\"    # flag --data-dir",
        "server.listen = \"127.0.0.1:2\"    # environment GATEWRIGHT_SERVER__LISTEN",
        "server.drain_seconds = 1    # file FILE:3",
        "limits.calls = 16384    # default",
    ] {
        assert!(
            lines.iter().any(|found| found == line),
            "{line} in {lines:#?}"
        );
    }
    assert!(
        given
            .load()
            .options
            .server
            .drain_seconds
            .total_cmp(&1.0)
            .is_eq()
    );
}

#[test]
fn variables_are_toml_where_the_key_is_no_text() {
    let environment = [
        (
            "GATEWRIGHT_EGRESS__ALLOW",
            r#"["10.0.0.0/8:8000", "models.local:80"]"#,
        ),
        ("GATEWRIGHT_LIMITS__CALLS", "1_000"),
        ("GATEWRIGHT_PRICES__MARKUP", "0.5"),
        ("GATEWRIGHT_MODELS__DEFAULT", "openai/gpt-4o"),
    ];

    let options = given("", &environment).load().options;

    assert_eq!(options.egress.allow, ["10.0.0.0/8:8000", "models.local:80"]);
    assert_eq!(options.limits.calls, 1000);
    assert!(options.prices.markup.total_cmp(&0.5).is_eq());
    assert_eq!(options.models.default.unwrap().as_str(), "openai/gpt-4o");
}

#[test]
fn what_is_kept_of_spans_is_said_for_all_and_for_each_project() {
    let file =
        "[spans]\nkeep_days = 30\nmax_gib = 2\n[projects.a-b.spans]\nkeep_days = 0\nmax_gib = 0.5";
    let environment = [("GATEWRIGHT_PROJECTS__A_B__SPANS__CONTENT", "none")];

    let options = given(file, &environment).load().options;

    let usual = engine::SpansOptions {
        keep_days: 30,
        max_gib: 2.0,
        content: engine::Content::Full,
    };
    let own = engine::ProjectSpansOptions {
        keep_days: Some(0),
        max_gib: Some(0.5),
        content: Some(engine::Content::None),
    };
    assert_eq!((options.spans, options.projects["a-b"].spans), (usual, own));
}

#[test]
fn names_without_two_underscores_are_no_keys() {
    let environment = [
        ("GATEWRIGHT_LISTEN", "nonsense"),
        ("GATEWRIGHT_PORT_8080_TCP", "tcp://10.0.0.1:8080"),
        ("OTHER_SERVER__LISTEN", "nonsense"),
        ("GATEWRIGHT_LOG", "debug"),
    ];

    let config = given("", &environment).load();

    assert_eq!(
        config.options,
        Config::load(&Sources::default()).unwrap().options
    );
    assert_eq!(config.log_filter, "debug");
}

#[test]
fn providers_keep_the_order_of_the_file() {
    let file = r#"
        [providers.zeta]
        api_base = "http://localhost:1/v1"
        [providers.openai]
        [providers."my-host.two"]
        api_base = "http://localhost:2/v1"
    "#;
    let environment = [
        (
            "GATEWRIGHT_PROVIDERS__ALPHA__API_BASE",
            "http://localhost:3/v1",
        ),
        ("GATEWRIGHT_PROVIDERS__MY_HOST_TWO__DEFAULT_MODEL", "tiny"),
    ];

    let providers = given(file, &environment).load().options.providers;

    let names: Vec<&String> = providers.keys().collect();
    assert_eq!(names, ["zeta", "openai", "my-host.two", "alpha"]);
    assert_eq!(
        providers["my-host.two"].default_model.as_deref(),
        Some("tiny")
    );
    assert_eq!(
        providers["alpha"].api_base.as_deref(),
        Some("http://localhost:3/v1")
    );
}

#[test]
fn keys_come_from_the_section_or_else_from_the_usual_variable() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    fs::write(&path, "sk-file\n").unwrap();
    let file = format!(
        "[providers.one]\napi_key_env = \"ONE\"\n[providers.two]\napi_key_file = {path:?}\n\
         [providers.openai]\napi_key_env = \"MINE\"\n[providers.three]"
    );
    let environment = [
        ("ONE", " sk-one "),
        ("MINE", "sk-mine"),
        ("OPENAI_API_KEY", "sk-openai"),
        ("MISTRAL_API_KEY", "  "),
    ];

    let keys = given(&file, &environment).load().provider_options().keys;

    let keys: Vec<(&str, &str)> = keys
        .iter()
        .map(|(name, key)| (name.as_str(), key[0].secret.expose()))
        .collect();
    assert_eq!(
        keys,
        [("one", "sk-one"), ("two", "sk-file"), ("openai", "sk-mine")]
    );
}

#[test]
fn the_usual_variable_is_enough() {
    let lines = given("", &[("OPENAI_API_KEY", HIDDEN)]).lines();

    assert!(
        lines
            .iter()
            .any(|line| line == "providers.openai.key = [secret]    # environment OPENAI_API_KEY")
    );
}

#[test]
fn the_master_key_is_given_or_in_a_file_or_beside_the_store() {
    let key = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("master");
    fs::write(&path, format!("{key}\n")).unwrap();
    let file = format!("[secrets]\nmaster_key_file = {path:?}");

    let in_environment = given(&file, &[("GATEWRIGHT_MASTER_KEY", key)])
        .load()
        .master_key;
    let in_file = given(&file, &[("GATEWRIGHT_MASTER_KEY", "")])
        .load()
        .master_key;
    let beside = given("[store]\ndata_dir = \"here\"", &[]).load().master_key;

    assert!(matches!(in_environment, MasterKeySource::Given(given) if given.expose() == key));
    assert!(matches!(in_file, MasterKeySource::File(found) if found == path));
    assert!(matches!(beside, MasterKeySource::BesideStore(found) if found == *"here/master.key"));
}

#[test]
fn a_master_key_file_without_a_key_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("master");
    fs::write(&path, HIDDEN).unwrap();

    let problems = given(&format!("secrets.master_key_file = {path:?}"), &[]).problems();

    let expected = format!(
        "bad value for `secrets.master_key_file` in FILE:1: {path:?} is a file with no master key: the master key must \
         be 32 bytes in base64, as `openssl rand -base64 32` prints them"
    );
    assert_eq!(problems, [expected]);
}

#[test]
fn declared_tokens_name_their_projects() {
    let text = format!("one:{TOKEN}, two:{TOKEN}:with:colons ,one:{TOKEN},");

    let tokens = given("", &[("GATEWRIGHT_BOOTSTRAP_TOKENS", &text)])
        .load()
        .bootstrap_tokens;

    let tokens: Vec<_> = tokens
        .iter()
        .map(|(project, token)| (project.as_str(), token.expose()))
        .collect();
    let second = format!("{TOKEN}:with:colons");
    assert_eq!(tokens, [("one", TOKEN), ("two", &second)]);
}

/// Files that are refused, and what is said of each.
const REFUSED: &[(&str, &[&str])] = &[
    (
        "[server]\nlisten = \"127.0.0.1:1\"\nlisen = \"127.0.0.1:2\"",
        &[
            "unknown key `server.lisen` (= \"127.0.0.1:2\") in FILE:3; did you mean `server.listen`?",
        ],
    ),
    (
        "listen = 1",
        &["unknown key `listen` (= 1) in FILE:1; did you mean `server.listen`?"],
    ),
    (
        "[limit]",
        &["unknown key `limit` in FILE:1; did you mean `limits.calls`?"],
    ),
    (
        "server = 3",
        &["`server` in FILE:1 is a section and takes no value"],
    ),
    (
        "server.listen.port = 3",
        &["unknown key `server.listen.port` (= 3) in FILE:1; did you mean `server.listen`?"],
    ),
    (
        "[server]\n\nlisten = 8080",
        &["wrong type for `server.listen` in FILE:3: 8080 is a whole number, but text is needed"],
    ),
    (
        "limits.calls = 1.5",
        &[
            "wrong type for `limits.calls` in FILE:1: 1.5 is a number with a fraction, but a whole number is needed",
        ],
    ),
    (
        "egress.allow = [1]",
        &[
            "wrong type for `egress.allow` in FILE:1: [1] is a list, but a list of texts such as [\"a\", \"b\"] is needed",
        ],
    ),
    (
        "server.listen = \"8080\"",
        &[
            "bad value for `server.listen` in FILE:1: \"8080\" is not HOST:PORT, such as 127.0.0.1:8080",
        ],
    ),
    (
        "metrics.listen = \"localhost:http\"",
        &[
            "bad value for `metrics.listen` in FILE:1: \"localhost:http\" is not HOST:PORT, such as 127.0.0.1:8080",
        ],
    ),
    (
        "store.data_dir = \" \"",
        &["bad value for `store.data_dir` in FILE:1: \" \" is empty"],
    ),
    (
        "store.durability = \"strikt\"",
        &[
            "bad value for `store.durability` in FILE:1: \"strikt\" does not fit: unknown variant `strikt`, expected \
             `standard` or `strict`",
        ],
    ),
    (
        "models.default = \"openai/\"",
        &[
            "bad value for `models.default` in FILE:1: \"openai/\" does not fit: a model's name has the shape \
             `<provider>/<model_name>`, or is the name of a custom model",
        ],
    ),
    (
        "limits.calls = 0",
        &["bad value for `limits.calls` in FILE:1: 0 is not between 1 and 1099511627776"],
    ),
    (
        "calls.timeout_seconds = -1",
        &["bad value for `calls.timeout_seconds` in FILE:1: -1 is not between 0.001 and 31536000"],
    ),
    (
        "upstream.timeout_seconds = nan",
        &[
            "bad value for `upstream.timeout_seconds` in FILE:1: nan is not between 0.001 and 31536000",
        ],
    ),
    (
        "server.drain_seconds = inf",
        &["bad value for `server.drain_seconds` in FILE:1: inf is not between 0 and 31536000"],
    ),
    (
        "prices.markup = -0.1",
        &["bad value for `prices.markup` in FILE:1: -0.1 is not between 0 and 1000"],
    ),
    (
        "spans.keep_days = -1\nspans.max_gib = 1e9",
        &[
            "bad value for `spans.keep_days` in FILE:1: -1 is not between 0 and 36525",
            "bad value for `spans.max_gib` in FILE:2: 1000000000.0 is not between 0 and 1048576",
        ],
    ),
    (
        "spans.keep_days = 0.5",
        &[
            "wrong type for `spans.keep_days` in FILE:1: 0.5 is a number with a fraction, but a whole number is needed",
        ],
    ),
    (
        "projects.a.spans.content = \"some\"\nprojects.a.spans.keep_days = 36526\nprojects.a.spans.days = 1",
        &[
            "unknown key `projects.a.spans.days` (= 1) in FILE:3; did you mean `projects.a.spans.keep_days`?",
            "bad value for `projects.a.spans.keep_days` in FILE:2: 36526 is not between 0 and 36525",
            "bad value for `projects.a.spans.content` in FILE:1: \"some\" does not fit: unknown variant `some`, expected \
             `full` or `none`",
        ],
    ),
    (
        "providers.a.api_base = \"localhost:80\"",
        &[
            "bad value for `providers.a.api_base` in FILE:1: \"localhost:80\" is not an http or https URL",
        ],
    ),
    (
        "providers.a.api_key_env = \"NOT_SET\"",
        &[
            "bad value for `providers.a.api_key_env` in FILE:1: \"NOT_SET\" names an environment variable that is not set",
        ],
    ),
    (
        "providers.a.api_key_file = \"/not/there\"",
        &[
            "bad value for `providers.a.api_key_file` in FILE:1: \"/not/there\" cannot be read: No such file or \
             directory (os error 2)",
        ],
    ),
    (
        "providers.a.api_key_file = \"/f\"\nproviders.a.api_key_env = \"E\"",
        &[
            "bad value for `providers.a.api_key_file` in FILE:1: \"/f\" is given beside `providers.a.api_key_env`; one \
             of them is enough",
        ],
    ),
    ("[server]\n[server]", &["FILE:2 is not TOML: duplicate key"]),
    (
        "limits.calls = 0\nprices.markup = 1e9\nstore.durability = \"no\"\nlog.colour = true",
        &[
            "unknown key `log.colour` (= true) in FILE:4; did you mean `log.format`?",
            "bad value for `limits.calls` in FILE:1: 0 is not between 1 and 1099511627776",
            "bad value for `prices.markup` in FILE:2: 1000000000.0 is not between 0 and 1000",
            "bad value for `store.durability` in FILE:3: \"no\" does not fit: unknown variant `no`, expected `standard` \
             or `strict`",
        ],
    ),
];

#[test]
fn a_fault_names_key_value_source_and_what_is_right() {
    for (file, expected) in REFUSED {
        assert_eq!(given(file, &[]).problems(), *expected, "{file}");
    }
}

#[test]
fn a_fault_of_the_environment_names_the_variable() {
    for (name, value, expected) in [
        (
            "GATEWRIGHT_SERVER__LISEN",
            "x",
            "unknown key `server.lisen` (= \"x\") in the environment variable GATEWRIGHT_SERVER__LISEN; did you mean \
             `server.listen`, which is GATEWRIGHT_SERVER__LISTEN?",
        ),
        (
            "GATEWRIGHT_LIMITS__CALLS",
            "many",
            "wrong type for `limits.calls` in the environment variable GATEWRIGHT_LIMITS__CALLS: \"many\" is text, but \
             a whole number is needed",
        ),
        (
            "GATEWRIGHT_LIMITS__CALLS",
            "-5",
            "bad value for `limits.calls` in the environment variable GATEWRIGHT_LIMITS__CALLS: -5 is not between 1 \
             and 1099511627776",
        ),
        (
            "GATEWRIGHT_MASTER_KEY",
            "too-short",
            "bad value in the environment variable GATEWRIGHT_MASTER_KEY: the master key must be 32 bytes in base64, \
             as `openssl rand -base64 32` prints them",
        ),
        (
            "GATEWRIGHT_LOG",
            "engine=loud",
            "bad value in the environment variable GATEWRIGHT_LOG: \"engine=loud\": error parsing level filter: \
             expected one of \"off\", \"error\", \"warn\", \"info\", \"debug\", \"trace\", or a number 0-5",
        ),
    ] {
        assert_eq!(given("", &[(name, value)]).problems(), [expected]);
    }
}

#[test]
fn a_fault_of_a_declared_token_names_its_place_and_project() {
    let own = token_with_wrong_checksum();
    for (text, expected) in [
        (
            HIDDEN.to_owned(),
            "entry 1 of GATEWRIGHT_BOOTSTRAP_TOKENS is not PROJECT:TOKEN",
        ),
        (
            format!("a:{TOKEN},b c:{HIDDEN}"),
            "entry 2 of GATEWRIGHT_BOOTSTRAP_TOKENS has no project's name before the colon: a project's name is 1 to \
             128 letters, digits, dots, underscores or hyphens",
        ),
        (
            "a:short".to_owned(),
            "entry 1 of GATEWRIGHT_BOOTSTRAP_TOKENS, for project `a`, has a bad token: a token has 24 to 4096 visible \
             ASCII characters and no comma",
        ),
        (
            format!("a:{own}"),
            "entry 1 of GATEWRIGHT_BOOTSTRAP_TOKENS, for project `a`, has a bad token: a token that begins with `gw_` \
             must be one that `gatewright token create` printed; its form or checksum is wrong",
        ),
        (
            format!("a:{TOKEN},,b:{TOKEN}"),
            "entry 3 of GATEWRIGHT_BOOTSTRAP_TOKENS, for project `b`, has the token of entry 1",
        ),
    ] {
        assert_eq!(
            given("", &[("GATEWRIGHT_BOOTSTRAP_TOKENS", &text)]).problems(),
            [expected]
        );
    }
}

fn token_with_wrong_checksum() -> String {
    let token = engine::token::generate().secret.expose().to_owned();
    let last = if token.ends_with('0') { '1' } else { '0' };
    format!("{}{last}", &token[..token.len() - 1])
}

#[test]
fn no_message_holds_a_secret() {
    let files = [
        format!("providers.openai.api_key = \"{HIDDEN}\""),
        format!("providers.openai.bearer = \"{HIDDEN}\""),
        format!("providers.openai.api_key_env = \"{HIDDEN}\""),
        format!("providers.openai.api_key_file = \"{HIDDEN}\""),
        format!("providers.openai.api_base = \"https://user:{HIDDEN}@host/v1\""),
        format!("providers.openai.api_base = \"ftp://host/v1?key={HIDDEN}\""),
        format!("secrets.master_key = \"{HIDDEN}\""),
        format!("secrets.other = \"{HIDDEN}\""),
        format!("openai.token = [\"{HIDDEN}\"]"),
        format!("models.default_embeding = \"{HIDDEN}\""),
        format!("providers.openai.api_key = {HIDDEN}"),
    ];
    for file in files {
        let problems = given(&file, &[]).problems();
        assert!(!problems.concat().contains("do-not-print"), "{problems:?}");
    }
    for name in [
        "GATEWRIGHT_BOOTSTRAP_TOKENS",
        "GATEWRIGHT_MASTER_KEY",
        "GATEWRIGHT_PROVIDERS__OPENAI__API_KEY",
    ] {
        let problems = given("", &[(name, HIDDEN)]).problems();
        assert!(!problems.concat().contains("do-not-print"), "{problems:?}");
    }
    let two_words = format!("{HIDDEN} {HIDDEN}");
    let problems = given("", &[("OPENAI_API_KEY", &two_words)]).problems();
    assert_eq!(
        problems,
        [
            "the environment variable OPENAI_API_KEY holds no key: a key is 1 to 4096 visible ASCII characters"
        ]
    );
}

#[test]
fn no_line_holds_a_secret() {
    let environment = [
        ("OPENAI_API_KEY", HIDDEN),
        (
            "GATEWRIGHT_MASTER_KEY",
            "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=",
        ),
        (
            "GATEWRIGHT_BOOTSTRAP_TOKENS",
            "project:sk-do-not-print-this-0123456789",
        ),
    ];

    let lines = given("", &environment).lines().join("\n");

    assert!(
        !lines.contains("do-not-print") && !lines.contains("MDEy"),
        "{lines}"
    );
    for line in [
        "providers.openai.key = [secret]    # environment OPENAI_API_KEY",
        "secrets.master_key = [secret]    # environment GATEWRIGHT_MASTER_KEY",
        "tokens.project = [secret]    # environment GATEWRIGHT_BOOTSTRAP_TOKENS",
        "log.filter = \"info\"    # default",
    ] {
        assert!(lines.contains(line), "{line} in {lines}");
    }
}

#[test]
fn commands_on_the_store_need_no_secret() {
    let given = given(
        "providers.openai.api_key_env = \"NOT_SET\"\nstore.data_dir = \"here\"",
        &[],
    );

    let options = options(&given.sources).unwrap();

    assert_eq!(options.store.data_dir, PathBuf::from("here"));
}

#[test]
fn a_host_is_looked_up() {
    let mut given = given("", &[]);
    given.sources.listen = Some("localhost:8081".to_owned());

    let address = given.load().options.server.listen;

    assert!(address.ip().is_loopback());
    assert_eq!(address.port(), 8081);
}

#[test]
fn a_missing_file_is_named() {
    let sources = Sources {
        file: Some("/not/there.toml".into()),
        ..Sources::default()
    };

    let problems = Config::load(&sources).unwrap_err();

    let expected = "cannot read the configuration file `/not/there.toml`: No such file or directory (os error 2)";
    assert_eq!(problems, Problems(vec![expected.to_owned()]));
}

#[test]
fn a_refusal_by_another_crate_gets_its_place() {
    let config = given("egress.allow = [\"nonsense\"]", &[]).load();

    let Problems(problems) = crate::compose::connect(&config).err().unwrap();

    assert!(
        problems[0].contains("`egress.allow`") && problems[0].contains("`nonsense`"),
        "{problems:?}"
    );
    assert!(problems[0].ends_with("gatewright.toml:1)"), "{problems:?}");
}
