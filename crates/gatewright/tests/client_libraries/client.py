"""The published Python client with eyes on its transport, and what must hold for each of its answers."""

import asyncio
import json
import os
import re
import reprlib
import sys
import time
from datetime import datetime, timedelta
from itertools import count, islice
from pathlib import Path
from types import SimpleNamespace
from uuid import UUID, uuid4

import httpx
from opperai import Opper, errors
from pydantic import BaseModel

URL, TOKEN = os.environ.get("GATEWRIGHT_URL", ""), os.environ.get("GATEWRIGHT_TOKEN")
# Without an address the client would turn to its vendor's.
if not URL.endswith("/v2") or not TOKEN:
    sys.exit("GATEWRIGHT_URL, which ends in /v2, and GATEWRIGHT_TOKEN are needed")

CASES = json.loads((Path(__file__).parent / "cases.json").read_text(encoding="utf-8"))
INPUT_SCHEMA, OUTPUT_SCHEMA, SETTINGS = CASES["input_schema"], CASES["output_schema"], CASES["settings"]
NOBODY = "00000000-0000-7000-8000-000000000000"
TYPED = {
    400: errors.BadRequestError,
    401: errors.UnauthorizedError,
    404: errors.NotFoundError,
    409: errors.ConflictError,
    422: errors.RequestValidationError,
}
# What answers 201.
CREATING = {"functions.create", "spans.save_examples"}
# Where the client does not expect a 409, it raises its fallback.
UNTYPED = {
    ("functions.update", 409), ("language_models.update_custom", 409), ("language_models.update_alias", 409),
    ("spans.create", 409),
}
# Where it raises an error of no class of its own.
CLASSLESS = {("embeddings.create", 422), ("embeddings.create", 502)}
# What the server sends and this client does not read, everywhere or in some places.
UNREAD = {
    "is_v3", "provider", "type", "feedback", "beta.evaluation", "invocation.stream.failover",
    "invocation.hedge.after_ms", "usage", "cost", "cached", "json_payload", "finish_reason", "failover", "chunk_type",
    "error_type", "error_message",
}


class Recorded(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A body that keeps what was read of it."""

    def __init__(self, body):
        self.body, self.read = body, b""

    def __iter__(self):
        for piece in self.body:
            self.read += piece
            yield piece

    async def __aiter__(self):
        async for piece in self.body:
            self.read += piece
            yield piece

    def close(self):
        self.body.close()

    async def aclose(self):
        await self.body.aclose()


def recorded(response):
    """The same answer; if its body is not read yet, what will be read of it is kept."""
    if not response.is_closed:
        response.stream = Recorded(response.stream)
    return response


class Transport(httpx.Client):
    """Keeps the last answer, and lets no request out to anyone but the server."""

    came = None

    def send(self, request, **options):
        assert str(request.url).startswith(URL), f"a request for {request.url}"
        self.came = recorded(super().send(request, **options))
        return self.came


class AsyncTransport(httpx.AsyncClient):
    """The same for the asynchronous methods."""

    came = None

    async def send(self, request, **options):
        assert str(request.url).startswith(URL), f"a request for {request.url}"
        self.came = recorded(await super().send(request, **options))
        return self.came


class Client:
    """The client, called by the names of its operations."""

    def __init__(self, synchronous, url=URL, token=TOKEN, **options):
        self.synchronous = synchronous
        # The environment's proxies must not stand between the client and the server.
        self.transport = (Transport if synchronous else AsyncTransport)(trust_env=False)
        self.loop = None if synchronous else asyncio.new_event_loop()
        options["client" if synchronous else "async_client"] = self.transport
        self.opper = Opper(http_bearer=token, server_url=url, **options)

    def __call__(self, operation, **arguments):
        """Runs an operation such as `functions.create`, and compares what was decoded with what came.

        A stream is only opened.
        """
        Client.latest, self.transport.came = self, None
        self.said = f"{operation} {reprlib.repr(arguments)}"
        *path, method = operation.split(".")
        owner = self.opper
        for part in path:
            owner = getattr(owner, part)
        if self.synchronous:
            decoded = getattr(owner, method)(**arguments)
        else:
            decoded = self.loop.run_until_complete(getattr(owner, f"{method}_async")(**arguments))
        if method.startswith("delete"):
            same((decoded, self.came.status_code, self.came.content), (None, 204, b""))
        elif method.startswith("stream"):
            same((self.came.status_code, self.came.headers["content-type"]), (200, "text/event-stream"))
        else:
            same(self.came.status_code, 201 if operation in CREATING else 200, "status")
            same(self.came.headers["content-type"], "application/json")
            faithful(decoded, self.body())
        return decoded

    @property
    def came(self):
        return self.transport.came

    def body(self):
        return self.came.json()

    def answer(self):
        """The last answer, as far as it was read."""
        if self.came is None:
            return "nothing"
        is_recorded = isinstance(self.came.stream, Recorded)
        return f"{self.came.status_code} {self.came.stream.read.decode() if is_recorded else self.came.text}"

    def sent(self):
        return json.loads(self.came.request.content)

    def refused(self, status, kind, operation, **arguments):
        """Checks that an operation raises the client's error for this refusal; returns its detail."""
        wanted = errors.APIError if (operation, status) in UNTYPED else TYPED.get(status, errors.APIError)
        wanted = errors.Error if (operation, status) in CLASSLESS else wanted
        try:
            self(operation, **arguments)
        except errors.OpperError as error:
            same((type(error), error.status_code, error.headers["content-type"]), (wanted, status, "application/json"))
            body = json.loads(error.body)
            same((sorted(body), body["type"]), (["detail", "message", "type"], kind))
            if wanted is not errors.APIError:
                same((error.data.type, error.data.message, error.data.detail), (kind, body["message"], body["detail"]))
                same(str(error), body["message"])
            return body["detail"]
        raise AssertionError("nothing was raised")

    def missing(self, what, operation, **arguments):
        """Checks that an operation is refused because this is not there."""
        same(self.refused(404, "NotFoundError", operation, **arguments), f"{what} not found")

    def faults(self, operation, **arguments):
        """Checks that an operation is refused as malformed; returns the places of its faults."""
        detail = self.refused(422, "RequestValidationError", operation, **arguments)
        for fault in detail:
            same({member: type(value) for member, value in fault.items()}, {"loc": list, "msg": str, "type": str})
        return [fault["loc"] for fault in detail]

    def create(self, **given):
        """Stores a function, which must come back as it was sent."""
        function = self("functions.create", **{"name": fresh(), "instructions": "Forecast the weather.", **given})
        came = self.body()
        for member, value in self.sent().items():
            if member == "configuration" and value:
                value = {setting: held for setting, held in value.items() if held is not None}
            if member != "model" and value is not None:
                same(came[member], value, member)
        for held in (function.id, function.dataset_id, function.revision_id):
            same(str(UUID(held)), held)
        same(function.observer_enabled, True)
        return function

    def run(self, call, target, cached=False, **arguments):
        """Runs a call, and checks what every result has."""
        operation, target = call(target)
        result = self(operation, **target, **arguments)
        same(self.came.headers["x-span-id"], str(UUID(result.span_id)), "X-Span-Id")
        same((result.cached, result.images), (cached, None))
        billed(result.usage, result.cost)
        return result

    def stream(self, call, target, cached=False, **arguments):
        """Reads the stream of a call to its end, and checks what every stream has.

        Returns the payloads of its chunks and of its last event, and the event's name.
        """
        operation, target = call(target)
        read, headers = self.events(self(operation, **target, **arguments)), self.came.headers
        same([headers.get(name) for name in ("cache-control", "x-accel-buffering", "content-length",
                                             "content-encoding")], ["no-store", "no", None, None])
        came = self.sent_events()
        same(len(read), len(came), "events")
        for event, sent in zip(read, came):
            faithful(event, sent)
        same([sent["id"] for sent in came], [str(number) for number in range(len(came))])
        payloads, names = [sent["data"] for sent in came], [sent.get("event") for sent in came]
        same({payload["span_id"] for payload in payloads}, {headers["x-span-id"]})
        *chunks, last = payloads
        *unnamed, name = names
        same(set(unnamed) - {None}, set())
        same((last["delta"], name in ("done", "error")), ("", True))
        kinds = {chunk["chunk_type"] for chunk in chunks}
        if name == "done":
            same((kinds | {last["chunk_type"]}, last["cached"]), ({last["chunk_type"]}, cached))
            billed(last["usage"], last["cost"])
        else:
            same(last["chunk_type"], "error")
            assert last["error_type"] and last["error_message"], last
        return SimpleNamespace(chunks=chunks, last=last, name=name, span_id=last["span_id"])

    def events(self, opened, most=None):
        """Reads a stream that was opened to its end, or so many of its events, and closes it."""
        if self.synchronous:
            with opened.result as stream:
                return list(islice(stream, most))

        async def read():
            events = []
            async with opened.result as stream:
                async for event in stream:
                    events.append(event)
                    if len(events) == most:
                        break
            return events

        return self.loop.run_until_complete(read())

    def sent_events(self):
        """The events of the last stream as they came: every one with an empty line behind it, and one line of data."""
        *blocks, rest = self.came.stream.read.decode().split("\n\n")
        same(rest, "", "after the last event")
        events = []
        for lines in (block.split("\n") for block in blocks if not block.startswith(":")):
            event = dict(line.split(": ", 1) for line in lines)
            same((len(event), sorted(event)[0], {*event} - {"id", "event", "data"}), (len(lines), "data", set()))
            events.append({**event, "data": json.loads(event["data"])})
        return events

    def until(self, wanted, span_id):
        """Reads a span until it is as wanted, which takes the server a moment."""
        for _ in range(100):
            span = self.span(span_id)
            if wanted(span):
                return span
            time.sleep(0.05)
        raise AssertionError(f"the span stayed {span!r:.500}")

    def span(self, span_id):
        return self("spans.get", span_id=span_id)

    def close(self):
        if self.synchronous:
            self.transport.close()
        else:
            self.loop.run_until_complete(self.transport.aclose())
            self.loop.close()


def at_latest(function):
    """A call of the function as it is now."""
    return "functions.call", {"function_id": function.id}


def at_revision(function):
    """A call of the function as it was then."""
    return "functions.call_revision", {"function_id": function.id, "revision_id": function.revision_id}


def by_name(name):
    """A call that brings the definition along."""
    return "call", {"name": name}


def stream_of_latest(function):
    return "functions.stream", {"function_id": function.id}


def stream_of_revision(function):
    return "functions.stream_revision", {"function_id": function.id, "revision_id": function.revision_id}


def stream_by_name(name):
    return "stream", {"name": name}


CALLS, STREAMS = (at_latest, at_revision), (stream_of_latest, stream_of_revision)


def function_operations(function_id=NOBODY, revision_id=NOBODY):
    """Every operation on one function."""
    function, revision = {"function_id": function_id}, {"function_id": function_id, "revision_id": revision_id}
    return [
        ("functions.get", function),
        ("functions.update", {**function, "description": "d"}),
        ("functions.delete", function),
        ("functions.revisions.list", function),
        ("functions.get_by_revision", revision),
        ("functions.call", {**function, "input": "x"}),
        ("functions.call_revision", {**revision, "input": "x"}),
        ("functions.stream", {**function, "input": "x"}),
        ("functions.stream_revision", {**revision, "input": "x"}),
    ]


def model_operations(model_id=NOBODY):
    """Every operation on one custom model."""
    return [
        ("language_models.get_custom", {"model_id": model_id}),
        ("language_models.update_custom", {"model_id": model_id, "name": "x"}),
        ("language_models.delete_custom", {"model_id": model_id}),
    ]


def alias_operations(alias_id=NOBODY):
    """Every operation on one alias."""
    return [
        ("language_models.get_alias", {"alias_id": alias_id}),
        ("language_models.update_alias", {"alias_id": alias_id, "name": "x"}),
        ("language_models.delete_alias", {"alias_id": alias_id}),
    ]


def dataset_operations(dataset_id=NOBODY, entry_id=NOBODY):
    """Every operation on one dataset."""
    dataset = {"dataset_id": dataset_id}
    return [
        ("datasets.create_entry", {**dataset, "input": "x", "output": "y"}),
        ("datasets.list_entries", dataset),
        ("datasets.query_entries", {**dataset, "query": "x"}),
        *entry_operations(dataset_id, entry_id),
    ]


def entry_operations(dataset_id=NOBODY, entry_id=NOBODY):
    """Every operation on one entry of a dataset."""
    entry = {"dataset_id": dataset_id, "entry_id": entry_id}
    return [
        ("datasets.get_entry", entry),
        ("datasets.entries.update", {**entry, "comment": "c"}),
        ("datasets.delete_entry", entry),
    ]


def span_operations(span_id=NOBODY, metric_id=NOBODY):
    """Every operation on one span."""
    span = {"span_id": span_id}
    return [
        ("spans.get", span),
        ("spans.update", {**span, "name": "x"}),
        ("spans.delete", span),
        ("spans.submit_feedback", {**span, "score": 1}),
        ("spans.save_examples", span),
        ("span_metrics.create_metric", {**span, "dimension": "x", "value": 1}),
        ("span_metrics.list", span),
        *metric_operations(span_id, metric_id),
    ]


def metric_operations(span_id=NOBODY, metric_id=NOBODY):
    """Every operation on one metric of a span."""
    metric = {"span_id": span_id, "metric_id": metric_id}
    return [
        ("span_metrics.get", metric),
        ("span_metrics.update_metric", {**metric, "comment": "c"}),
        ("span_metrics.delete", metric),
    ]


PIECES = count(1)


def broken(how):
    """A model whose stream breaks after some pieces; each time a new one, as one that fails too often is left alone."""
    return f"offline/fail-stream-{how}-{next(PIECES)}"


def fresh(tail="x"):
    """A name that nobody has."""
    return f"tour-{uuid4().hex}/{tail}"


def same(got, wanted, what="value"):
    assert got == wanted and type(got) is type(wanted), f"{what}: got {got!r:.500}, wanted {wanted!r:.500}"


def billed(usage, cost):
    """Checks that usage and cost add up."""
    counts = (usage["input_tokens"], usage["output_tokens"], usage["output_tokens_details"]["reasoning_tokens"])
    same([type(count) for count in counts], [int] * 3, "tokens")
    same(usage["total_tokens"], counts[0] + counts[1], "total_tokens")
    same(sorted(cost), ["generation", "platform", "total"])
    assert abs(cost["total"] - cost["generation"] - cost["platform"]) < 1e-12, cost


def text_of(stream):
    """What the pieces of a stream make together."""
    return "".join(chunk["delta"] for chunk in stream.chunks)


def value_of(stream):
    """The value whose leaves came under their paths, whole or, where they are strings, in pieces."""
    tree = {}
    for chunk in stream.chunks:
        node = tree
        # A name, or an index.
        *above, last = [name or int(index) for name, index in re.findall(r"([^.[\]]+)|\[(\d+)\]", chunk["json_path"])]
        for step in above:
            node = node.setdefault(step, {})
        if last in node:
            same((type(node[last]), type(chunk["delta"])), (str, str), chunk["json_path"])
        node[last] = node[last] + chunk["delta"] if last in node else chunk["delta"]
    return tree["_root"] if list(tree) == ["_root"] else with_lists(tree)


def with_lists(node):
    """The same tree, with a list where the steps down are numbers."""
    if not isinstance(node, dict):
        return node
    if all(isinstance(step, int) for step in node):
        same(list(node), list(range(len(node))), "indices")
        return [with_lists(below) for below in node.values()]
    return {name: with_lists(below) for name, below in node.items()}


def faithful(decoded, came, path="answer"):
    """Checks that the client read every member that came, and read it right."""
    if isinstance(decoded, BaseModel):
        names = {field.alias or name: name for name, field in type(decoded).model_fields.items()}
        same(set(came) - set(names) - UNREAD, set(), f"{path}: unread")
        for key in set(came) & set(names):
            faithful(getattr(decoded, names[key]), came[key], f"{path}.{key}")
    elif isinstance(decoded, datetime):
        same(decoded, datetime.fromisoformat(came.replace("Z", "+00:00")), path)
        same(decoded.utcoffset(), timedelta(0), path)
    elif isinstance(decoded, list):
        same(len(decoded), len(came), path)
        for index, (left, right) in enumerate(zip(decoded, came)):
            faithful(left, right, f"{path}[{index}]")
    elif isinstance(decoded, float):
        same(decoded, float(came), path)
    else:
        same(decoded, came, path)
