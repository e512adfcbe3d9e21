"""The published Python client with eyes on its transport, and what must hold for each of its answers."""

import asyncio
import json
import os
import reprlib
import sys
from datetime import datetime, timedelta
from uuid import UUID, uuid4

import httpx
from opperai import Opper, errors
from pydantic import BaseModel

URL, TOKEN = os.environ.get("GATEWRIGHT_URL", ""), os.environ.get("GATEWRIGHT_TOKEN")
# Without an address the client would turn to its vendor's.
if not URL.endswith("/v2") or not TOKEN:
    sys.exit("GATEWRIGHT_URL, which ends in /v2, and GATEWRIGHT_TOKEN are needed")

NOBODY = "00000000-0000-7000-8000-000000000000"
TYPED = {
    400: errors.BadRequestError,
    401: errors.UnauthorizedError,
    404: errors.NotFoundError,
    409: errors.ConflictError,
    422: errors.RequestValidationError,
}
# Where the client does not expect a 409, it raises its fallback.
UNTYPED = {("functions.update", 409), ("language_models.update_custom", 409)}
# What the server sends and this client does not read.
UNREAD = {"is_v3", "provider", "type", "beta.evaluation"}


class Transport(httpx.Client):
    """Keeps the last answer, and lets no request out to anyone but the server."""

    came = None

    def send(self, request, **options):
        assert str(request.url).startswith(URL), f"a request for {request.url}"
        self.came = super().send(request, **options)
        return self.came


class AsyncTransport(httpx.AsyncClient):
    """The same for the asynchronous methods."""

    came = None

    async def send(self, request, **options):
        assert str(request.url).startswith(URL), f"a request for {request.url}"
        self.came = await super().send(request, **options)
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
        """Runs an operation such as `functions.create`, and compares what was decoded with what came."""
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
        else:
            same(self.came.status_code, 201 if operation == "functions.create" else 200, "status")
            same(self.came.headers["content-type"], "application/json")
            faithful(decoded, self.body())
        return decoded

    @property
    def came(self):
        return self.transport.came

    def body(self):
        return self.came.json()

    def sent(self):
        return json.loads(self.came.request.content)

    def refused(self, status, kind, operation, **arguments):
        """Checks that an operation raises the client's error for this refusal; returns its detail."""
        wanted = errors.APIError if (operation, status) in UNTYPED else TYPED.get(status, errors.APIError)
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

    def run(self, call, function, **arguments):
        """Calls a function, and checks what every result has."""
        operation, target = call(function)
        result = self(operation, **target, **arguments)
        same(self.came.headers["x-span-id"], str(UUID(result.span_id)), "X-Span-Id")
        same((result.cached, result.images), (False, None))
        usage, cost = result.usage, result.cost
        counts = (usage["input_tokens"], usage["output_tokens"], usage["output_tokens_details"]["reasoning_tokens"])
        same([type(count) for count in counts], [int] * 3, "tokens")
        same(usage["total_tokens"], counts[0] + counts[1], "total_tokens")
        same(sorted(cost), ["generation", "platform", "total"])
        assert abs(cost["total"] - cost["generation"] - cost["platform"]) < 1e-12, cost
        return result

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
    ]


def model_operations(model_id=NOBODY):
    """Every operation on one custom model."""
    return [
        ("language_models.get_custom", {"model_id": model_id}),
        ("language_models.update_custom", {"model_id": model_id, "name": "x"}),
        ("language_models.delete_custom", {"model_id": model_id}),
    ]


def fresh(tail="x"):
    """A name that nobody has."""
    return f"tour-{uuid4().hex}/{tail}"


def same(got, wanted, what="value"):
    assert got == wanted and type(got) is type(wanted), f"{what}: got {got!r:.500}, wanted {wanted!r:.500}"


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
    else:
        same(decoded, came, path)
