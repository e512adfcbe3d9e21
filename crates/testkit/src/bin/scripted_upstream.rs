//! An upstream whose models each have one part to play: the model's name says which.
//!
//! For tours with other people's clients, which need a model that answers, calls tools, refuses, fails or breaks off.

use std::{error::Error, time::Duration};

use serde_json::{Value, json};
use testkit::{Answer, Received, Script, Upstream, arguments::Arguments};

/// How long a vector is when nothing is said of it.
const DIMENSIONS: u64 = 4;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::read(&[("port", "9401")])?;
    let script = Script::by(|request| {
        if request.path.starts_with("/v1/embeddings") {
            vectors(&request.json())
        } else {
            part(request)
        }
    });
    let _upstream = Upstream::start_on(arguments.get("port")?, script).await?;
    std::future::pending().await
}

fn part(request: &Received) -> Answer {
    let asked = request.json();
    let person = json!({"name": "Ada", "age": 36, "likes": [{"what": "tea", "much": null}]});
    match asked["model"].as_str().unwrap_or_default() {
        "text" => Answer::text("Hello, world."),
        "slow" => Answer::text(&"word ".repeat(200)).pause(Duration::from_millis(50)),
        "value" => Answer::json(&person),
        "wrong" => Answer::json(&json!({"name": "Ada"})),
        "cut-value" => Answer::text(r#"{"name": "A"#).finish_reason("length"),
        "refuses" => {
            Answer::message(json!({"role": "assistant", "content": null, "refusal": "No."}))
        }
        "tools" => tools(&asked),
        "breaks" => Answer::text("Hello, world.").cut_after_pieces(2),
        "limits" => Answer::error(429, "slow down").header("retry-after", "1"),
        "fails" => Answer::error(500, "out of order"),
        name => Answer::error(404, &format!("there is no model `{name}`")),
    }
}

/// Calls the first tool twice; with the results at hand, repeats them.
fn tools(asked: &Value) -> Answer {
    let turns = asked["messages"].as_array().into_iter().flatten();
    let results = turns.filter(|turn| turn["role"] == "tool");
    let results: Vec<&str> = results
        .filter_map(|turn| turn["content"].as_str())
        .collect();
    if !results.is_empty() {
        return Answer::text(&results.join(" and "));
    }
    let name = &asked["tools"][0]["function"]["name"];
    let calls = [("call_oslo", "Oslo"), ("call_rome", "Rome")].map(|(id, city)| {
        let arguments = json!({"city": city}).to_string();
        json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
    });
    let message = json!({"role": "assistant", "content": null, "tool_calls": calls});
    Answer::message(message).finish_reason("tool_calls")
}

/// Vectors that tell the texts' places.
fn vectors(asked: &Value) -> Answer {
    let texts = asked["input"].as_array().map_or(1, Vec::len);
    let dimensions = asked["dimensions"].as_u64().unwrap_or(DIMENSIONS);
    let vectors = (0_u16..).take(texts).map(|place| {
        let numbers = (0..dimensions).map(|_| f32::from(place) + 0.5);
        numbers.collect()
    });
    Answer::embeddings(vectors.collect())
}
