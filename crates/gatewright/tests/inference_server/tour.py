#!/usr/bin/env python3
"""A tour of a gateway in front of an inference server that somebody else wrote: what a user of it would do first.

Environment: GATEWRIGHT_URL (with /v2), GATEWRIGHT_TOKEN, UPSTREAM_URL (with its version segment), UPSTREAM_MODEL,
UPSTREAM_PROTOCOL, and EMBEDDING_MODEL (empty: the server has none). Prints a line per step.
"""

import json
import os
import socket
import sys
import time
import urllib.error
import urllib.request
from urllib.parse import urlsplit

URL, TOKEN = os.environ["GATEWRIGHT_URL"], os.environ["GATEWRIGHT_TOKEN"]
SCHEMA = {
    "type": "object",
    "properties": {"ok": {"type": "boolean"}, "size": {"enum": ["small", "large"]}, "n": {"enum": [1, 2, 3]}},
    "required": ["ok", "size", "n"],
    "additionalProperties": False,
}
failed = 0


def request(method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    asked = urllib.request.Request(URL + path, data, headers, method=method)
    try:
        with urllib.request.urlopen(asked, timeout=120) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def ask(method, path, body=None):
    status, text = request(method, path, body)
    if not 200 <= status < 300:
        raise AssertionError(f"{method} {path}: {status} {text}")
    return json.loads(text) if text else None


def events(text):
    """The events of a stream: name and payload of each."""
    for event in filter(None, text.split("\n\n")):
        lines = [line for line in event.split("\n") if not line.startswith(":")]
        fields = dict(line.split(": ", 1) for line in lines)
        if "data" in fields:
            yield fields.get("event", "message"), json.loads(fields["data"])


def step(name):
    """Runs a step when it is defined, and prints what came of it."""

    def run(action):
        global failed
        began = time.monotonic()
        try:
            said = action() or ""
            print(f"ok      {name} ({time.monotonic() - began:.1f} s) {said}")
        except Exception as error:  # noqa: BLE001: every failure is a failed step
            failed += 1
            print(f"FAILED  {name}: {error}")

    return run


def function(name, model="real", **definition):
    body = {"name": name, "instructions": "Answer in one word.", "model": model, **definition}
    return ask("POST", "/functions", body)["id"]


def limited(tokens):
    return {"name": "real", "options": {"max_tokens": tokens, "temperature": 0.7, "seed": 7}}


@step("the model is registered")
def _():
    extra = {"api_base": os.environ["UPSTREAM_URL"], "protocol": os.environ["UPSTREAM_PROTOCOL"]}
    extra |= {"input_cost_per_token": 0.000001, "output_cost_per_token": 0.000002}
    identifier = f"local/{os.environ['UPSTREAM_MODEL']}"
    ask("POST", "/models/custom", {"name": "real", "identifier": identifier, "extra": extra})


@step("a plain call has a text, usage and cost, and its span can be read")
def _():
    answer = ask("POST", f"/functions/{function('plain', limited(24))}/call", {"input": "hello"})
    usage, cost = answer["usage"], answer["cost"]
    assert isinstance(answer["message"], str)
    assert usage["input_tokens"] > 0 and usage["output_tokens"] > 0, usage
    expected = usage["input_tokens"] * 1e-6 + usage["output_tokens"] * 2e-6
    assert abs(cost["total"] - expected) < 1e-12, (cost, usage)
    span = ask("GET", f"/spans/{answer['span_id']}")
    assert span["output"] == answer["message"] and span["meta"]["cost_status"] == "exact", span
    return f"{usage['input_tokens']} + {usage['output_tokens']} tokens"


@step("a streamed call comes in pieces that make up the message in the span")
def _():
    status, text = request("POST", f"/functions/{function('streamed', limited(24))}/call/stream", {"input": "hello"})
    assert status == 200, text
    told = list(events(text))
    pieces = [payload["delta"] for name, payload in told if name == "message"]
    name, end = told[-1]
    assert name == "done", told[-1]
    span = ask("GET", f"/spans/{end['span_id']}")
    assert span["output"] == "".join(pieces), span
    assert end["usage"]["output_tokens"] > 0, end
    return f"{len(pieces)} pieces"


@step("an answer is held to a schema")
def _():
    made = function("structured", limited(400), output_schema=SCHEMA)
    rungs = []
    for _ in range(3):
        answer = ask("POST", f"/functions/{made}/call", {"input": "go"})
        value = answer["json_payload"]
        assert set(value) == {"ok", "size", "n"} and isinstance(value["ok"], bool) and value["n"] in (1, 2, 3), value
        meta = ask("GET", f"/spans/{answer['span_id']}")["meta"]
        rungs.append(f"{meta['rung']} at attempt {len(meta['models_tried'])}")
    return "; ".join(rungs)


@step("a streamed answer is held to a schema")
def _():
    made = function("structured-stream", limited(400), output_schema=SCHEMA)
    status, text = request("POST", f"/functions/{made}/call/stream", {"input": "go"})
    assert status == 200, text
    told = list(events(text))
    assert told[-1][0] == "done", told[-1]
    value = json.loads("".join(payload["delta"] for name, payload in told if name == "message"))
    assert value == told[-1][1]["json_payload"], (value, told[-1])
    return json.dumps(value)


@step("a caller who leaves ends the generation")
def _():
    made = function("left", limited(3000))
    address = urlsplit(URL)
    body = b'{"input": "hello"}'
    head = (
        f"POST {address.path}/functions/{made}/call/stream HTTP/1.1\r\nHost: {address.netloc}\r\n"
        f"Authorization: Bearer {TOKEN}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection((address.hostname, address.port), timeout=60) as connection:
        connection.sendall(head.encode() + body)
        received = b""
        while received.count(b"data: ") < 3:
            received += connection.recv(4096)
    span_id = json.loads(received.split(b"data: ")[1].split(b"\n")[0])["span_id"]
    left = time.monotonic()
    by = left + 10
    while (span := ask("GET", f"/spans/{span_id}"))["end_time"] is None and time.monotonic() < by:
        time.sleep(0.05)
    assert span["error"] == "client disconnected", span
    closed = time.monotonic() - left
    # The server has one slot: it answers the next one at once, or it was not told.
    began = time.monotonic()
    ask("POST", f"/functions/{function('next', limited(4))}/call", {"input": "hello"})
    return f"the span was closed after {closed:.2f} s, the next call took {time.monotonic() - began:.2f} s"


@step("an unknown model and a wrong option are told apart")
def _():
    extra = {"api_base": os.environ["UPSTREAM_URL"].replace("/v1", "/nowhere/v1")}
    ask("POST", "/models/custom", {"name": "nowhere", "identifier": "local/x", "extra": extra})
    status, text = request("POST", f"/functions/{function('nowhere', 'nowhere')}/call", {})
    assert status == 502, (status, text)
    wrong = {"name": "real", "options": {"temperature": "hot"}}
    status, text = request("POST", f"/functions/{function('wrong', wrong)}/call", {})
    assert status in (400, 502), (status, text)
    return json.loads(text)["detail"]["reason"][:60]


if os.environ["EMBEDDING_MODEL"]:

    @step("texts become vectors")
    def _():
        extra = {"api_base": os.environ["UPSTREAM_URL"], "protocol": os.environ["UPSTREAM_PROTOCOL"]}
        identifier = f"local/{os.environ['EMBEDDING_MODEL']}"
        ask("POST", "/models/custom", {"name": "vectors", "identifier": identifier, "type": "embedding", "extra": extra})
        answer = ask("POST", "/embeddings", {"input": ["one", "two", "one"], "model": {"name": "vectors"}})
        vectors = [item["embedding"] for item in answer["data"]]
        assert [item["index"] for item in answer["data"]] == [0, 1, 2]
        assert len({len(vector) for vector in vectors}) == 1

        def apart(one, other):
            return max(abs(a - b) for a, b in zip(one, other, strict=True))

        same, different = apart(vectors[0], vectors[2]), apart(vectors[0], vectors[1])
        assert same < different / 100, (same, different)
        assert answer["usage"]["prompt_tokens"] > 0, answer["usage"]
        return f"{len(vectors[0])} dimensions"


sys.exit(1 if failed else 0)
