use std::time::{Duration, Instant};

use serde_json::json;

use super::connection;
use crate::{Answer, EndingKind, Upstream};

const PATH: &str = "/v1/chat/completions";
const SOON: Duration = Duration::from_secs(1);

fn kinds(upstream: &Upstream) -> Vec<EndingKind> {
    upstream
        .endings()
        .iter()
        .map(|ending| ending.kind)
        .collect()
}

#[tokio::test]
async fn a_client_that_leaves_during_the_delay_is_noticed() {
    let upstream = Upstream::start(Answer::text("late").after(Duration::from_mins(1))).await;
    let mut connection = connection(&upstream).await;

    let body = json!({});
    let asked = tokio::time::timeout(Duration::from_millis(50), connection.post(PATH, &body)).await;
    let before = (upstream.open_requests(), upstream.open_connections());
    let left_at = Instant::now();
    connection.hang_up().await;

    assert!(asked.is_err());
    assert_eq!(before, (1, 1));
    assert!(upstream.wait_until_idle(SOON).await);
    let ending = upstream.endings()[0];
    assert_eq!((ending.request, ending.kind), (0, EndingKind::Left));
    assert!(ending.at >= left_at);
}

#[tokio::test]
async fn a_client_that_leaves_a_silent_stream_is_noticed() {
    let upstream = Upstream::start(Answer::text("abcdefgh").stall_after_pieces(1)).await;
    let mut connection = connection(&upstream).await;

    let body = json!({"stream": true});
    let mut stream = connection.open_stream(PATH, &body).await.unwrap();
    let _role = stream.next_event().await;
    let _first = stream.next_event().await;
    let silent = tokio::time::timeout(Duration::from_millis(50), stream.next_event()).await;
    let idle_too_early = upstream.wait_until_idle(Duration::ZERO).await;
    connection.hang_up().await;

    assert!(silent.is_err() && !idle_too_early);
    assert!(upstream.wait_until_idle(SOON).await);
    assert_eq!(kinds(&upstream), [EndingKind::Left]);
}

#[tokio::test]
async fn a_client_that_leaves_between_pieces_is_noticed() {
    let pause = Duration::from_millis(20);
    let upstream = Upstream::start(Answer::text(&"word ".repeat(1000)).pause(pause)).await;
    let mut connection = connection(&upstream).await;

    let body = json!({"stream": true});
    let mut stream = connection.open_stream(PATH, &body).await.unwrap();
    for _ in 0..3 {
        stream.next_event().await.unwrap();
    }
    connection.hang_up().await;

    assert!(upstream.wait_until_idle(SOON).await);
    assert_eq!(kinds(&upstream), [EndingKind::Left]);
}

#[tokio::test]
async fn answered_and_cut_requests_are_told_apart() {
    let upstream = Upstream::start([
        Answer::text("whole"),
        Answer::text("streamed"),
        Answer::text("cut").cut_after_pieces(0),
        Answer::cut(),
    ])
    .await;
    let mut first = connection(&upstream).await;

    first.post(PATH, &json!({})).await.unwrap();
    for body in [json!({"stream": true}), json!({"stream": true})] {
        let mut stream = first.open_stream(PATH, &body).await.unwrap();
        stream.rest().await;
    }
    let mut second = connection(&upstream).await;
    let cut = second.post(PATH, &json!({})).await;

    assert!(cut.is_err());
    assert!(upstream.wait_until_idle(SOON).await);
    assert_eq!(
        kinds(&upstream),
        [
            EndingKind::Answered,
            EndingKind::Answered,
            EndingKind::Cut,
            EndingKind::Cut
        ]
    );
}

#[tokio::test]
async fn arrivals_can_be_waited_for() {
    let upstream = Upstream::start(Answer::text("late").after(Duration::from_mins(1))).await;
    let mut connection = connection(&upstream).await;

    let calling = tokio::spawn(async move { connection.post(PATH, &json!({})).await });
    let one = upstream.wait_for_requests(1, SOON).await;
    let two = upstream
        .wait_for_requests(2, Duration::from_millis(20))
        .await;
    calling.abort();

    assert!(one && !two);
    assert!(upstream.wait_until_idle(SOON).await);
}
