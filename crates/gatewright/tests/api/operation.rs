//! How an operator holds it: start, stop, keys, a second server.

use std::{
    io::Write,
    os::unix::fs::PermissionsExt,
    process::Stdio,
    time::{Duration, Instant},
};

use serde_json::json;
use testkit::Answer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::server::{Server, binary};

#[tokio::test]
async fn sigterm_lets_calls_finish_and_exits_with_0() {
    let mut server = Server::start();
    let api = server.api();
    let function = api
        .function(json!({"name": "f", "instructions": "x", "model": "offline/fail-delay-1500"}))
        .await;
    let call = tokio::spawn({
        let (api, function) = (api.clone(), function.clone());
        async move { api.call(&function, json!({"input": "hi"})).await }
    });
    let began = "gatewright_requests_total";
    while !server
        .api_with("")
        .get("/metrics")
        .await
        .text
        .contains(began)
    {}
    tokio::time::sleep(Duration::from_millis(300)).await;

    let code = server.stop().await;

    assert_eq!(code, Some(0));
    let answer = call.await.unwrap();
    assert_eq!(
        (answer.status.as_u16(), &answer.body["message"]),
        (200, &json!("hi"))
    );
}

#[tokio::test]
async fn calls_that_outlast_the_drain_are_ended_and_recorded() {
    let mut server = Server::start_with(&[("GATEWRIGHT_SERVER__DRAIN_SECONDS", "0.5")]);
    let api = server.api();
    let function = json!({"name": "f", "instructions": "x", "model": "offline/fail-delay-60000"});
    let function = api.function(function).await;
    let call = tokio::spawn({
        let api = api.clone();
        async move { api.call(&function, json!({"input": "hi"})).await }
    });
    tokio::time::sleep(Duration::from_millis(500)).await;
    let late = tokio::spawn({
        let open = server.api_with("");
        async move {
            tokio::time::sleep(Duration::from_millis(200)).await;
            open.get("/readyz").await
        }
    });

    let code = server.stop().await;

    let late = late.await.unwrap();
    assert_eq!(
        (late.status.as_u16(), late.body),
        (503, json!({"status": "draining"}))
    );
    assert_eq!(late.headers["connection"], "close");
    let answer = call.await.unwrap();
    assert_eq!((code, answer.status.as_u16()), (Some(0), 503));
    assert_eq!(answer.body["detail"], "draining");
    server.start_again();
    let span = server.api().span(&answer).await;
    assert_eq!(span["error"], "ServiceUnavailableError: draining");
}

#[tokio::test]
async fn a_stream_that_outlasts_the_drain_ends_with_an_error_event() {
    let pause = Duration::from_millis(200);
    let (mut server, _upstream) = Server::with_upstream_and(
        Answer::text(&"still here ".repeat(100)).pause(pause),
        &[("GATEWRIGHT_SERVER__DRAIN_SECONDS", "0.5")],
    )
    .await;
    let api = server.api();
    let body = json!({"name": "f", "instructions": "x", "model": "house/tiny", "input": "hi"});
    let stream = api.open_stream("/v2/call/stream", &body).await;
    let span = stream.headers()["x-span-id"].to_str().unwrap().to_owned();
    let reading = tokio::spawn(stream.text());
    tokio::time::sleep(2 * pause).await;

    let code = server.stop().await;

    assert_eq!(code, Some(0));
    let text = reading.await.unwrap().unwrap();
    let (_, last) = text.trim_end().rsplit_once("event: ").unwrap();
    assert!(last.starts_with("error\n"), "{text}");
    assert!(last.contains("ServiceUnavailableError"), "{text}");
    server.start_again();
    let span = server.api().get(&format!("/v2/spans/{span}")).await.body;
    assert_eq!(span["error"], "ServiceUnavailableError: draining");
    assert!(!span["end_time"].is_null());
}

/// Clients that connect again and again until nobody listens, each for one request: every connection that was made is
/// answered, the ones that were still to be accepted at the end as well.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_was_let_in_before_the_end_is_answered() {
    let mut server = Server::start();
    let address = server.address.strip_prefix("http://").unwrap().to_owned();
    let clients: Vec<_> = (0..16)
        .map(|_| {
            let address = address.clone();
            tokio::spawn(async move {
                let mut answered = 0;
                while let Ok(mut connection) = tokio::net::TcpStream::connect(&address).await {
                    let asked = connection.write_all(b"GET /readyz HTTP/1.1\r\nhost: x\r\n\r\n");
                    asked.await.unwrap();
                    let mut head = [0; 12];
                    connection.read_exact(&mut head).await.unwrap();
                    answered += 1;
                }
                answered
            })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(300)).await;

    let code = server.stop().await;

    assert_eq!(code, Some(0));
    for client in clients {
        assert!(client.await.unwrap() > 0);
    }
}

#[tokio::test]
async fn without_room_to_record_nothing_is_asked_and_reads_go_on() {
    let (server, upstream) = Server::with_upstream_and(
        Answer::text("hi"),
        &[("GATEWRIGHT_STORE__MIN_FREE_MIB", "1048576")],
    )
    .await;
    let api = server.api();
    let call = json!({"name": "f", "instructions": "x", "model": "house/tiny", "input": "hi"});

    let refused = [
        api.post("/v2/call", call.clone()).await,
        api.post("/v2/call/stream", call).await,
        api.post("/v2/functions", json!({"name": "f", "instructions": "x"}))
            .await,
    ];
    let ready = server.api_with("").get("/readyz").await;
    let listed = api.get("/v2/functions").await;

    for answer in refused {
        assert_eq!(
            (
                answer.status.as_u16(),
                answer.class(),
                &answer.body["detail"]
            ),
            (503, "ServiceUnavailableError", &json!("storage"))
        );
        assert!(answer.headers.contains_key("retry-after"));
    }
    assert_eq!(
        (ready.status.as_u16(), ready.body),
        (503, json!({"status": "storage"}))
    );
    assert_eq!(listed.status, 200);
    assert_eq!(upstream.requests().len(), 0);
}

#[tokio::test]
async fn after_an_unclean_stop_the_database_is_looked_through() {
    let mut server = Server::start();
    server.api().echo().await;
    let told = async |server: &Server| {
        let metrics = server.api_with("").get("/metrics").await.text;
        let line = metrics
            .lines()
            .find(|line| line.starts_with("gatewright_store_intact"));
        line.map(str::to_owned)
    };
    assert_eq!(told(&server).await, None);

    server.restart_after_kill();

    let began = Instant::now();
    while told(&server).await.as_deref() != Some("gatewright_store_intact 1") {
        assert!(began.elapsed() < Duration::from_secs(20), "nothing is told");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    server.stop().await;
    server.start_again();
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(told(&server).await, None);
}

#[tokio::test]
async fn an_answer_that_is_still_being_read_at_the_stop_is_read_to_its_end() {
    let mut server = Server::start();
    let api = server.api();
    let function = api.echo().await;
    let address = server.address.strip_prefix("http://").unwrap().to_owned();
    let body = json!({"input": "y".repeat(12_000_000)}).to_string();
    let head = format!(
        "POST /v2/functions/{}/call HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\ncontent-length: {}\r\n\r\n",
        function["id"].as_str().unwrap(),
        crate::server::ALPHA,
        body.len(),
    );
    let reading = tokio::spawn(async move {
        let mut connection = tokio::net::TcpStream::connect(&address).await.unwrap();
        connection.write_all(head.as_bytes()).await.unwrap();
        connection.write_all(body.as_bytes()).await.unwrap();
        let (mut read, mut buffer) = (0, vec![0; 400_000]);
        loop {
            match connection.read(&mut buffer).await.unwrap() {
                0 => return read,
                count => read += count,
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
    tokio::time::sleep(Duration::from_millis(1500)).await;

    let code = server.stop().await;

    assert_eq!(code, Some(0));
    assert!(reading.await.unwrap() > 12_000_000);
}

#[tokio::test]
async fn a_message_that_two_servers_could_read_in_two_ways_is_refused() {
    let server = Server::start();
    let address = server.address.strip_prefix("http://").unwrap().to_owned();
    let status = async |headers: String| {
        let mut connection = tokio::net::TcpStream::connect(&address).await.unwrap();
        let request = format!("POST /v2/functions HTTP/1.1\r\nhost: x\r\n{headers}\r\n0\r\n\r\n");
        connection.write_all(request.as_bytes()).await.unwrap();
        let mut answer = [0; 12];
        connection.read_exact(&mut answer).await.unwrap();
        String::from_utf8(answer[9..].to_vec()).unwrap()
    };

    assert_eq!(
        status("transfer-encoding: chunked\r\n".to_owned()).await,
        "401"
    );
    assert_eq!(
        status("transfer-encoding: gzip, chunked\r\n".to_owned()).await,
        "400"
    );
    assert_eq!(
        status("content-length: 1\r\ncontent-length: 2\r\n".to_owned()).await,
        "400"
    );
    assert_eq!(
        status(format!("x: {}\r\ncontent-length: 0\r\n", "y".repeat(9000))).await,
        "431"
    );
}

#[tokio::test]
async fn a_connection_that_keeps_quiet_is_closed() {
    let server = Server::start_with(&[
        ("GATEWRIGHT_LIMITS__HEADER_TIMEOUT_SECONDS", "0.5"),
        ("GATEWRIGHT_LIMITS__IDLE_TIMEOUT_SECONDS", "2.5"),
    ]);
    let address = server.address.strip_prefix("http://").unwrap().to_owned();
    let seconds_open = async |said: &'static [u8]| {
        let mut connection = tokio::net::TcpStream::connect(&address).await.unwrap();
        let began = Instant::now();
        connection.write_all(said).await.unwrap();
        let mut answer = Vec::new();
        connection.read_to_end(&mut answer).await.unwrap();
        (began.elapsed().as_secs_f64(), !answer.is_empty())
    };

    let (nothing, half, whole) = tokio::join!(
        seconds_open(b""),
        seconds_open(b"GET /healthz HTTP/1.1\r\nhost: x\r\n"),
        seconds_open(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n"),
    );

    assert!((0.4..2.0).contains(&nothing.0) && !nothing.1, "{nothing:?}");
    assert!((0.4..2.0).contains(&half.0) && !half.1, "{half:?}");
    assert!((2.4..9.0).contains(&whole.0) && whole.1, "{whole:?}");
}

#[tokio::test]
async fn a_second_server_on_the_same_data_is_refused_and_told_who_holds_it() {
    let server = Server::start();

    let second = server.command(&["serve", "--listen", "127.0.0.1:0"]);

    assert!(!second.status.success());
    let said = String::from_utf8(second.stderr).unwrap();
    assert!(said.contains(&server.process_id().to_string()), "{said}");
}

#[tokio::test]
async fn files_are_the_owner_s_alone() {
    let server = Server::start();
    let api = server.api();
    api.model("m", "http://127.0.0.1:9/v1").await;

    let data = server.dir.path().join("data");
    assert_eq!(
        std::fs::metadata(&data).unwrap().permissions().mode() & 0o777,
        0o700
    );
    for file in std::fs::read_dir(&data).unwrap() {
        let file = file.unwrap();
        assert_eq!(
            file.metadata().unwrap().permissions().mode() & 0o077,
            0,
            "{file:?}"
        );
    }
    let key = std::fs::read_to_string(data.join("master.key")).unwrap();
    assert_eq!(key.trim().len(), 44, "32 bytes in base64");
}

#[tokio::test]
async fn a_wrong_or_missing_master_key_stops_the_start_while_sealed_rows_exist() {
    let server = Server::start();
    server.api().model("m", "http://127.0.0.1:9/v1").await;
    let (dir, key) = (
        server.dir.path().join("data"),
        server.dir.path().join("data/master.key"),
    );
    let copy = tempfile::tempdir().unwrap();
    let code = {
        // The data outlives its server here.
        let kept = std::fs::read(&key).unwrap();
        let code = std::process::Command::new("cp")
            .arg("-r")
            .arg(&dir)
            .arg(copy.path())
            .status()
            .unwrap();
        assert!(code.success());
        kept
    };
    drop(server);
    let data = copy.path().join("data");
    let start = |environment: &[(&str, &str)]| {
        binary()
            .args(["serve", "--listen", "127.0.0.1:0", "--data-dir"])
            .arg(&data)
            .envs(environment.iter().copied())
            .stdin(Stdio::null())
            .output()
            .unwrap()
    };

    std::fs::remove_file(data.join("master.key")).unwrap();
    let missing = start(&[]);
    let other = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";
    let wrong = start(&[("GATEWRIGHT_MASTER_KEY", other)]);
    let nonsense = start(&[("GATEWRIGHT_MASTER_KEY", "short")]);

    for (what, output) in [
        ("missing", &missing),
        ("wrong", &wrong),
        ("nonsense", &nonsense),
    ] {
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            !output.status.success() && said.contains("master key"),
            "{what}: {said}"
        );
        assert!(!said.contains(other));
    }
    assert!(
        !data.join("master.key").exists(),
        "no new key is made silently"
    );
    std::fs::File::create(data.join("master.key"))
        .unwrap()
        .write_all(&code)
        .unwrap();
}

#[tokio::test]
async fn bootstrap_tokens_given_again_change_nothing() {
    let mut server = Server::start();
    server
        .api()
        .function(json!({"name": "f", "instructions": "x"}))
        .await;

    server.restart_after_kill();

    assert_eq!(
        server.api().get("/v2/functions/by-name/f").await.status,
        200
    );
    let projects = String::from_utf8(server.command(&["project", "list"]).stdout).unwrap();
    assert_eq!(projects.matches("alpha").count(), 1, "{projects}");
}

#[tokio::test]
async fn a_taken_address_is_said_clearly() {
    let server = Server::start();
    let address = server.address.strip_prefix("http://").unwrap();
    let dir = tempfile::tempdir().unwrap();

    let second = binary()
        .args(["serve", "--listen", address, "--data-dir"])
        .arg(dir.path())
        .output()
        .unwrap();

    let said = String::from_utf8_lossy(&second.stderr);
    assert!(!second.status.success() && said.contains(address), "{said}");
}

#[tokio::test]
async fn a_default_model_that_nobody_serves_is_warned_of_at_the_start() {
    let server = Server::start();
    let address = server.address.strip_prefix("http://").unwrap();
    let dir = tempfile::tempdir().unwrap();

    let second = binary()
        .args(["serve", "--listen", address, "--data-dir"])
        .arg(dir.path())
        .env("GATEWRIGHT_MODELS__DEFAULT", "nobody/m")
        .env("GATEWRIGHT_MODELS__DEFAULT_EMBEDDING", "nope/e")
        .output()
        .unwrap();

    let said = String::from_utf8_lossy(&second.stderr);
    for warning in [
        "`models.default` names no configured provider: calls that name no model will fail",
        "`models.default_embedding` names no configured provider: embeddings that name no model will fail",
    ] {
        assert!(said.contains(warning), "{said}");
    }
    assert!(said.contains("nobody/m") && said.contains("nope/e"));
}
