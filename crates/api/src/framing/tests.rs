use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

use super::*;

/// What is read of `sent`, in pieces of so many bytes, and how the reading ended.
async fn read(sent: &[u8], piece: usize) -> (String, bool) {
    let (ours, mut theirs) = duplex(1024 * 1024);
    for piece in sent.chunks(piece) {
        theirs.write_all(piece).await.unwrap();
    }
    drop(theirs);
    let mut framed = Framed::new(ours);
    let mut read = Vec::new();
    let ended = framed.read_to_end(&mut read).await;
    (String::from_utf8_lossy(&read).into_owned(), ended.is_ok())
}

/// The same for bytes that come one by one.
async fn read_slowly(sent: &[u8]) -> (String, bool) {
    let (ours, mut theirs) = duplex(1);
    let sent = sent.to_vec();
    tokio::spawn(async move {
        for byte in sent {
            if theirs.write_all(&[byte]).await.is_err() {
                break;
            }
        }
    });
    let mut framed = Framed::new(ours);
    let mut read = Vec::new();
    let ended = framed.read_to_end(&mut read).await;
    (String::from_utf8_lossy(&read).into_owned(), ended.is_ok())
}

#[tokio::test]
async fn what_is_clear_passes_as_it_came() {
    let long = "x".repeat(50_000);
    let clear = [
        "GET / HTTP/1.1\r\nhost: x\r\n\r\n".to_owned(),
        "GET /a HTTP/1.1\r\nhost: x\r\n\r\nGET /b HTTP/1.0\r\n\r\n".to_owned(),
        "\r\n\r\nGET / HTTP/1.1\r\n\r\n\r\nGET / HTTP/1.1\r\n\r\n".to_owned(),
        "GET http://x/v2 HTTP/1.1\r\nhost: x\r\n\r\n".to_owned(),
        "OPTIONS * HTTP/1.1\r\nhost: x\r\n\r\n".to_owned(),
        format!("POST / HTTP/1.1\r\nContent-Length: 50000\r\n\r\n{long}GET / HTTP/1.1\r\n\r\n"),
        "POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\n\n\r\0\n\nGET / HTTP/1.1\r\n\r\n".to_owned(),
        "POST / HTTP/1.1\r\nTransfer-Encoding: Chunked\r\n\r\n5;a=\"b\"\r\n\n\n\n\n\n\r\n0\r\nt: x\r\n\r\nGET / HTTP/1.1\r\n\r\n"
            .to_owned(),
        format!("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nC350\r\n{long}\r\n0\r\n\r\n"),
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\n\n\n".to_owned(),
        // What is not finished is for its reader to judge.
        "GET / HTTP/1.1\r\nhost:".to_owned(),
        "POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\n12".to_owned(),
    ];

    for sent in clear {
        let bytes = sent.as_bytes();
        assert_eq!(read(bytes, bytes.len()).await, (sent.clone(), true));
        assert_eq!(read(bytes, 1).await, (sent.clone(), true));
        assert_eq!(read_slowly(bytes).await, (sent.clone(), true));
    }
}

#[tokio::test]
async fn what_can_be_read_in_two_ways_is_replaced_and_ends_the_connection() {
    let (unclear, too_large) = (Refusal::Unclear.stand_in(), Refusal::TooLarge.stand_in());
    let fields = "a: b\r\n".repeat(101);
    let huge = format!("a: {}\r\n", "b".repeat(8000)).repeat(5);
    let refused = [
        ("GET / HTTP/1.1\nhost: x\n\n", unclear),
        ("GET / HTTP/1.1\r\nhost: x\n\r\n", unclear),
        ("GET / HTTP/1.1\r\na: b\rc: d\r\n\r\n", unclear),
        ("GET / HTTP/1.1\r\na: b\0\r\n\r\n", unclear),
        ("GET / HTTP/1.1\r\na: b\r\n c\r\n\r\n", unclear),
        ("GET / HTTP/1.1\r\na : b\r\n\r\n", unclear),
        ("GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n", unclear),
        ("GET  / HTTP/1.1\r\n\r\n", unclear),
        ("GET / HTTP/1.2\r\n\r\n", unclear),
        ("GET /\r\n\r\n", unclear),
        ("GET x HTTP/1.1\r\n\r\n", unclear),
        ("CONNECT x:443 HTTP/1.1\r\n\r\n", unclear),
        ("POST / HTTP/1.1\r\nContent-Length: +1\r\n\r\n", unclear),
        ("POST / HTTP/1.1\r\nContent-Length: 1, 1\r\n\r\n", unclear),
        ("POST / HTTP/1.1\r\nContent-Length:\r\n\r\n", unclear),
        (
            "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
            unclear,
        ),
        (
            "POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
            unclear,
        ),
        (
            "POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
            unclear,
        ),
        (
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
            unclear,
        ),
        (
            "POST / HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
            unclear,
        ),
        (
            "POST / HTTP/1.1\r\nTransfer-Encoding: \x0bchunked\r\n\r\n",
            unclear,
        ),
        (
            "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
            unclear,
        ),
        ("GET / HTTP/1.1\r\n{fields}\r\n", too_large),
        ("GET / HTTP/1.1\r\n{huge}\r\n", too_large),
        ("GET /{huge", too_large),
    ];
    let before = "POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi";

    for (sent, stand_in) in refused {
        let sent = sent.replace("{fields}", &fields).replace("{huge}", &huge);
        let sent = sent.replace("{huge", &"x".repeat(33_000));
        let sent = format!("{before}{sent}GET /smuggled HTTP/1.1\r\n\r\n");
        let expected = format!("{before}{}", String::from_utf8_lossy(stand_in));
        for piece in [sent.len(), 7] {
            assert_eq!(
                read(sent.as_bytes(), piece).await,
                (expected.clone(), true),
                "{sent:.200}"
            );
        }
        assert_eq!(
            read_slowly(sent.as_bytes()).await,
            (expected, true),
            "{sent:.200}"
        );
    }
}

#[tokio::test]
async fn a_body_that_keeps_to_no_length_breaks_off() {
    let head = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
    for body in [
        "\r\n",
        "5\nhello\r\n0\r\n\r\n",
        "5 \r\nhello\r\n0\r\n\r\n",
        "0x5\r\nhello\r\n0\r\n\r\n",
        "-5\r\nhello\r\n0\r\n\r\n",
        "5\r\nhello0\r\n\r\n",
        "5;a\nb\r\nhello\r\n0\r\n\r\n",
        "0000000000000005\r\nhello\r\n0\r\n\r\n",
        "ffffffffffffffffff\r\nhello",
        "0\r\nt: x\n\r\n",
        "5\r\nhello\n0\r\n\r\n",
    ] {
        let sent = format!("{head}{body}GET /smuggled HTTP/1.1\r\n\r\n");

        let (read, ended_well) = read(sent.as_bytes(), sent.len()).await;

        assert!(
            !ended_well && !read.contains("smuggled"),
            "{body:?}: {read}"
        );
    }
}
