"""A tour of the API with the published Python client, with its synchronous and with its asynchronous methods.

What the client decodes is compared with the bytes that came, and a refusal must raise the client's own error. The
server needs its offline provider only; `scripts/client-libraries` starts one that is thrown away afterwards, as the
tour leaves behind what it made.

Usage: GATEWRIGHT_URL=http://HOST:PORT/v2 GATEWRIGHT_TOKEN=... tour.py
"""

import json
import sys
import traceback
import warnings
from datetime import datetime, timedelta, timezone

from opperai import models
from opperai.utils import BackoffStrategy, RetryConfig
from pydantic import BaseModel

import records
import streams
from client import (
    CALLS, CASES, INPUT_SCHEMA, NOBODY, OUTPUT_SCHEMA, SETTINGS, URL, Client, alias_operations, at_latest,
    at_revision, dataset_operations, fresh, function_operations, model_operations, same, span_operations,
    stream_of_latest, text_of,
)


class Forecast(BaseModel):
    """A schema as a user of the client writes it."""

    city: str
    high: int


def settings(**values):
    return models.FunctionCallConfigurationInput(**values)


def stored(name, options=None, extra_headers=None):
    """A model in the form in which the server gives it back."""
    return models.Model(name=name, options=options or {}, extra_headers=extra_headers or {})


def a_function_comes_back_as_it_was_given(client):
    whole = client.create(
        name=fresh("forecast.v1"), description="\u00e9", instructions="Sag «guten Tag» 👋\n\u2028",
        input_schema=INPUT_SCHEMA, output_schema=OUTPUT_SCHEMA, model="offline/json",
        configuration=settings(**{key.replace(".", "_"): value for key, value in SETTINGS.items()}),
    )
    same(client.body()["configuration"], SETTINGS)
    same(list(whole.input_schema), list(INPUT_SCHEMA), "order of members")
    same(whole.model, stored("offline/json"))
    least = client.create()
    assert "model" not in client.body(), "one client takes no null here"
    same((least.description, least.input_schema, least.output_schema, least.model), (None,) * 4)
    for made in (whole, least):
        same(client("functions.get", function_id=made.id).model_dump(), made.model_dump())
        same(client("functions.get_by_name", name=made.name).model_dump(), made.model_dump())
    same(client.create(instructions="", description=None, input_schema=None, output_schema=None, model=None,
                       configuration=None).instructions, "")
    same(client.create(input_schema=Forecast, output_schema=Forecast).output_schema, Forecast.model_json_schema())
    for tail in ("call/stream", "revisions", "by-name/x"):
        made = client.create(name=fresh(tail))
        same(client("functions.get_by_name", name=made.name).id, made.id)


def every_form_of_a_model_is_stored(client):
    warm = {"temperature": 0.5}
    echo, warm_echo = stored("offline/echo"), stored("offline/echo", warm)
    forms = [
        ("offline/echo", echo),
        ("my-model", stored("my-model")),
        (stored("offline/echo", warm, {"x-a": "b"}), stored("offline/echo", warm, {"x-a": "b"})),
        (models.Model(name="offline/echo", options=None, extra_headers=None), echo),
        ({"name": "offline/echo", "options": warm}, warm_echo),
        ({"model": "offline/echo", "options": warm}, warm_echo),
        (["offline/echo", "offline/json"], [echo, stored("offline/json")]),
        (["a/b", models.Model(name="c/d", options={"a": [1, None]}), {"model": "offline/echo"}],
         [stored("a/b"), stored("c/d", {"a": [1, None]}), echo]),
    ]
    changed = client.create()
    for form, wanted in forms:
        same(client.create(model=form).model, wanted)
        same(client("functions.update", function_id=changed.id, model=form).model, wanted)


def settings_are_kept_as_they_were_sent(client):
    one = client.create(configuration={"invocation_cache_ttl": 5})
    # The client adds its own defaults.
    same(client.sent()["configuration"]["beta.invocation.input_validation.enabled"], False)
    same((one.configuration.invocation_cache_ttl, one.configuration.invocation_few_shot_count), (5, 3))
    client.create(configuration=settings(beta_evaluation={"scorers": ["base"]}))
    same(client.body()["configuration"]["beta.evaluation"], {"scorers": ["base"]})
    client.create(configuration=settings(beta_evaluation=None))


def what_cannot_be_a_function_is_refused(client):
    taken, op = client.create().name, "functions.create"
    client.refused(409, "ConflictError", op, name=taken, instructions="i")
    for name in [*CASES["refused_names"], "a" * 256]:
        same(client.faults(op, name=name, instructions="i"), [["body", "name"]])
    for definition, place in CASES["refused_definitions"]:
        same(client.faults(op, name=fresh(), instructions="i", **definition), [place])
    place = ["body", "configuration", "invocation.few_shot.count"]
    same(client.faults(op, name=fresh(), instructions="i", configuration=settings(invocation_few_shot_count=101)),
         [place])
    client.refused(413, "PayloadTooLargeError", op, name=fresh(), instructions="x" * 3_000_000)


def functions_are_listed(client):
    marker, op = fresh(), "functions.list"
    made = [client.create(name=f"{marker}/{tail}") for tail in ("b", "a.c", "a-c", "a/c", "B", "_", "a")]
    made.append(client.create(name=f"{marker}/z", description="Which", model=["offline/json"]))
    same([item.id for item in client(op, name=marker, sort="created_at", offset=0, limit=100).data],
         [function.id for function in made])
    by_name = sorted(made, key=lambda function: function.name)
    orders = {"created_at": made, "-created_at": made[::-1], "name": by_name, "-name": by_name[::-1]}
    for sort, wanted in orders.items():
        pages = [client(op, name=marker, sort=sort, offset=offset, limit=3) for offset in (0, 3, 6, 9)]
        same({page.meta.total_count for page in pages}, {len(made)})
        items = [item for page in pages for item in page.data]
        for item, function in zip(items, wanted):
            for member in ("id", "name", "revision_id", "description", "instructions", "model"):
                same(getattr(item, member), getattr(function, member), member)
        same(len(items), len(wanted))
    some = client(op)
    same(some.model_dump(), client(op, name=None, sort=None, offset=None, limit=None).model_dump())
    assert 0 < len(some.data) <= min(20, some.meta.total_count), "20 at most"
    none = client(op, name="no such name 100% & more")
    same((none.meta.total_count, none.data), (0, []))
    for argument, value in (("limit", 0), ("limit", 101), ("offset", -1), ("sort", "size")):
        same(client.faults(op, **{argument: value}), [["query", argument]])


def a_change_of_the_definition_makes_a_revision(client):
    function, op = client.create(model="offline/json", configuration=SETTINGS), "functions.update"
    latest = function.revision_id

    def change(moves, **arguments):
        nonlocal latest
        changed = client(op, function_id=function.id, **arguments)
        same(changed.revision_id != latest, moves, "a new revision")
        latest = changed.revision_id
        return changed

    change(False)
    renamed = change(False, name=f"{function.name}-2", description="New")
    same((renamed.name, renamed.description), (f"{function.name}-2", "New"))
    change(False, name=function.name)
    same(change(True, instructions="Forecast it well.").instructions, "Forecast it well.")
    change(False, instructions="Forecast it well.")
    same(change(True, model="offline/echo").model, stored("offline/echo"))
    same(change(True, input_schema=Forecast).input_schema, Forecast.model_json_schema())
    merged = change(True, configuration={"invocation.cache.ttl": 7})
    same(client.body()["configuration"], {**SETTINGS, "invocation.cache.ttl": 7})
    same((merged.configuration.invocation_cache_ttl, merged.configuration.invocation_few_shot_count), (7, 2))
    change(True, configuration={"invocation.cache.ttl": None})
    same(client.sent(), {"configuration": {"invocation.cache.ttl": None}})
    same(client.body()["configuration"], {key: SETTINGS[key] for key in SETTINGS if key != "invocation.cache.ttl"})
    cleared = change(True, description=None, input_schema=None, output_schema=None, model=None, configuration=None)
    same((cleared.description, cleared.input_schema, cleared.output_schema, cleared.model), (None,) * 4)
    same(client.body()["configuration"], {})
    kept = change(False, name=None, instructions=None)
    same((kept.name, kept.instructions), (function.name, "Forecast it well."))
    everything = {"name": fresh(), "description": "All", "instructions": "All.", "input_schema": INPUT_SCHEMA,
                  "output_schema": OUTPUT_SCHEMA, "configuration": SETTINGS}
    change(True, model=["offline/json"], **everything)
    same({member: client.body()[member] for member in everything}, everything)

    same(client.faults(op, function_id=function.id, name="a b"), [["body", "name"]])
    same(client.faults(op, function_id=function.id, configuration={"invocation.cache.ttl": "1"}),
         [["body", "configuration", "invocation.cache.ttl"]])
    client.refused(409, "ConflictError", op, function_id=function.id, name=client.create().name)


def revisions_are_listed_and_read(client):
    first = client.create(input_schema=INPUT_SCHEMA, output_schema=OUTPUT_SCHEMA, model="offline/json")
    later = [client("functions.update", function_id=first.id, configuration={"invocation.cache.ttl": n})
             for n in (1, 2, 3)]
    ids = [function.revision_id for function in (*reversed(later), first)]
    op = "functions.revisions.list"
    page = client(op, function_id=first.id)
    same(([item.id for item in page.data], page.meta.total_count), (ids, 4))
    same([item.configuration for item in page.data], [{"invocation.cache.ttl": n} for n in (3, 2, 1)] + [{}])
    times = [item.created_at for item in page.data]
    same(times, sorted(times, reverse=True), "order")
    assert abs(times[0] - datetime.now(timezone.utc)) < timedelta(minutes=1), times[0]
    part = client(op, function_id=first.id, offset=1, limit=2)
    same((part.data, part.meta), (page.data[1:3], page.meta))
    same(client(op, function_id=first.id, offset=None, limit=None), page)
    same(client.faults(op, function_id=first.id, limit=0), [["query", "limit"]])

    op = "functions.get_by_revision"
    for function in (first, *later):
        read = client(op, function_id=first.id, revision_id=function.revision_id)
        same(read.model_dump(), function.model_dump())
    for revision_id in (NOBODY, client.create().revision_id):
        client.missing("Function revision", op, function_id=first.id, revision_id=revision_id)
        for operation in ("functions.call_revision", "functions.stream_revision"):
            client.missing("Function revision", operation, function_id=first.id, revision_id=revision_id)


def what_is_not_there_is_missing(client):
    gone = client.create(model="offline/echo")
    span_id = client.run(at_latest, gone, input="x").span_id
    client("functions.delete", function_id=gone.id)
    for operation, arguments in function_operations(gone.id, gone.revision_id) + function_operations():
        client.missing("Function", operation, **arguments)
    client.missing("Function", "functions.get_by_name", name=gone.name)
    same(client.span(span_id).name, gone.name, "a span outlives its function")
    client.create(name=gone.name)
    for what, operations in (
        ("Span", span_operations()), ("Dataset", dataset_operations()), ("Custom model", model_operations()),
        ("Alias", alias_operations()),
    ):
        for operation, arguments in operations:
            client.missing(what, operation, **arguments)
    client.missing("Custom model", "language_models.get_custom_by_name", name="no/such")
    client.missing("Alias", "language_models.get_alias_by_name", name="no/such")


def an_id_that_is_none_is_refused(client):
    for place, operations in (
        ("function_id", function_operations("x")), ("model_id", model_operations("x")),
        ("alias_id", alias_operations("x")), ("dataset_id", dataset_operations("x")), ("span_id", span_operations("x")),
    ):
        for operation, arguments in operations:
            same(client.faults(operation, **arguments), [["path", place]])


def every_input_reaches_the_model_and_the_span(client):
    echo, media = client.create(model="offline/echo"), CASES["media_input"]
    for call in CALLS:
        for given in [*CASES["inputs"], 2**53 + 1]:
            result = client.run(call, echo, input=given)
            same(result.json_payload, None)
            same(result.message if isinstance(given, str) else json.loads(result.message), given)
            span = client.span(result.span_id)
            same((span.input, span.output), (given, result.message))
        for nothing in ({}, {"input": None}, dict.fromkeys(("input", "parent_span_id", "examples", "tags"))):
            same(client.span(client.run(call, echo, **nothing).span_id).input, None)
        same(client.span(client.run(call, echo, input=media).span_id).input, media)


def a_span_holds_the_whole_call(client):
    shaped = client.create(model="offline/json", input_schema=INPUT_SCHEMA, output_schema=OUTPUT_SCHEMA)
    examples = [
        models.ExampleIn(input={"city": "Bonn"}, output={"city": "Bonn"}, comment="short"),
        models.ExampleIn(input="text", output="text", comment=None),
        models.ExampleIn(input=None, output=None),
        {"input": {"city": "Graz"}, "output": {"high": 1}},
    ]
    for call in CALLS:
        parent = client.span(client.run(call, shaped, input={"city": "Oslo", "days": 3}).span_id)
        result = client.run(call, shaped, input={"city": "Rome"}, parent_span_id=parent.id, examples=examples,
                            tags=CASES["tags"])
        same(client.sent()["examples"][2], {"input": None, "output": None})
        same((result.message, result.json_payload["city"]), (None, "Rome"))
        assert result.json_payload["sky"] in ("clear", "cloudy"), result.json_payload
        same(type(result.json_payload["high"]), int)
        span = client.span(result.span_id)
        same((span.name, span.type), (shaped.name, "generation"))
        # The observer may have been there already.
        same((span.error, span.feedback, span.score in (None, 100)), (None, None, True))
        same((span.parent_id, span.trace_id, parent.parent_id), (parent.id, parent.trace_id, None))
        same((span.input, span.output), ({"city": "Rome"}, result.json_payload))
        assert span.start_time <= span.end_time, "it ended before it began"
        wanted = {
            "tags": CASES["tags"], "function_id": shaped.id, "function_name": shaped.name,
            "revision_id": shaped.revision_id, "model": "offline/json", "attempts": 1, "cached": False,
            "streamed": False, "finish_reason": "stop", "usage": result.usage, "cost": result.cost,
        }
        same({member: span.meta[member] for member in wanted}, wanted)
        same([type(span.meta[member]) for member in ("models_tried", "few_shot_count")], [list, int])
        assert {"latency_ms", "cost_status"} <= set(span.meta), span.meta


def an_answer_takes_the_form_that_was_asked_for(client):
    for call in CALLS:
        listed = client.create(model=["nobody/nothing", {"name": "offline/fail-status-500"}, "offline/echo"])
        result = client.run(call, listed, input="still here")
        same((result.message, client.span(result.span_id).meta["model"]), ("still here", "offline/echo"))
        client.run(call, client.create(), input="the default model")
        for model in ("offline/fail-json-1", "offline/fail-schema-2"):
            mended = client.create(model=model, output_schema=OUTPUT_SCHEMA)
            same(client.run(call, mended, input={"city": "Rome"}).json_payload["city"], "Rome")
        same(client.run(call, client.create(model="offline/fail-empty"), input="x").message, "")
        null = client.run(call, client.create(output_schema={"type": "null"}), input="x")
        same((null.message, null.json_payload), (None, None))
        lax = client.create(model="offline/echo", input_schema=INPUT_SCHEMA, configuration=settings())
        same(client.run(call, lax, input=5).message, "5", "an explicit false switches the input check off")


def an_older_revision_stays_callable(client):
    old = client.create(model="offline/echo")
    client("functions.update", function_id=old.id, model="offline/json", output_schema={"type": "integer"})
    before, now = client.run(at_revision, old, input="old"), client.run(at_latest, old, input="new")
    same((before.message, before.json_payload, now.message), ("old", None, None))
    same(type(now.json_payload), int)


def a_call_that_cannot_begin_is_refused(client):
    shaped = client.create(model="offline/json", input_schema=INPUT_SCHEMA)
    for operation, target in (call(shaped) for call in CALLS):
        places = client.faults(operation, **target, input={"city": "", "days": 0})
        same(sorted(places), [["body", "input", "city"], ["body", "input", "days"]])
        same(client.faults(operation, **target, input=5), [["body", "input"]])
        span = client.span(client.came.headers["x-span-id"])
        same((span.input, span.error.split(":")[0]), (5, "RequestValidationError"))
        client.missing("Parent span", operation, **target, parent_span_id=NOBODY)
        same(client.faults(operation, **target, parent_span_id="x"), [["body", "parent_span_id"]])


def the_failures_of_models_are_typed(client):
    late = client("language_models.register_custom", name=fresh(), identifier="offline/fail-delay-3000",
                  extra={"timeout_seconds": 0.2})
    cases = [*CASES["failures"], {"model": late.name, "status": 504, "type": "UpstreamTimeoutError"}]
    for index, case in enumerate(cases):
        schema = OUTPUT_SCHEMA if case.get("shaped") else None
        function = client.create(model=case["model"], output_schema=schema,
                                 configuration={"invocation_structured_generation_max_attempts": 2})
        operation, target = CALLS[index % 2](function)
        detail = client.refused(case["status"], case["type"], operation, **target, input={"city": "Oslo"})
        headers = client.came.headers
        same((headers["x-span-id"], "retry-after" in headers), (detail["span_id"], case["status"] == 429))
        assert detail["reason"] and detail["reason"] == case.get("reason", detail["reason"]), detail
        if case["type"] == "StructuredGenerationError":
            same((detail["attempts"], type(detail["last_output"])), (2, str))
            assert detail["validation_errors"], detail
        if isinstance(case["model"], list):
            same([item["name"] for item in detail["models"]], case["model"])
            same([sorted(item) for item in detail["models"]], [["name", "reason", "status"]] * 2)
        span = client.span(detail["span_id"])
        same((span.name, span.output, span.meta["error_type"]), (function.name, None, case["type"]))
        same(span.error.split(": ")[0], case["type"])


def custom_models_are_registered_found_and_changed(client):
    op, extra, key = "language_models.register_custom", CASES["custom_model_extra"], "sk-secret-1234567890"

    def answered(operation, **arguments):
        model = client(operation, **arguments)
        assert "api_key" not in client.came.text and "sk-secret" not in client.came.text, "the key came back"
        return model

    marker = fresh()
    given = [
        {"name": f"{marker} a+b, é/«x» (1)", "identifier": "openai/gpt/x", "extra": extra, "api_key": key},
        {"name": f"{marker} least", "identifier": "offline/echo"},
        {"name": f"{marker} none", "identifier": "offline/echo", "extra": None, "api_key": None},
        {"name": marker + "é" * (255 - len(marker)), "identifier": "a/b"},
    ]
    made = [answered(op, **arguments) for arguments in given]
    for model, arguments in zip(made, given):
        same((model.name, model.identifier, model.extra),
             (arguments["name"], arguments["identifier"], arguments.get("extra") or {}))
        same(answered("language_models.get_custom", model_id=model.id).model_dump(), model.model_dump())
        same((client.body()["provider"], client.body()["type"]), (model.identifier.split("/")[0], "llm"))
        same(answered("language_models.get_custom_by_name", name=model.name).id, model.id)
    client.refused(409, "ConflictError", op, name=made[1].name, identifier="a/b")
    long = [{"name": "x" * 256, "identifier": "a/b"}, ["body", "name"]]
    for arguments, place in [*CASES["refused_custom_models"], long]:
        same(client.faults(op, **arguments), [place])

    op = "language_models.list_custom"
    page = answered(op)
    names = [model.name for model in page.data]
    same(names, sorted(names), "order")
    assert {model.id for model in made} <= {model.id for model in page.data}, "one is not listed"
    part = client(op, offset=1, limit=2)
    same((part.data, part.meta), (page.data[1:3], page.meta))
    same(client(op, offset=None, limit=None), page)
    same(client.faults(op, limit=101), [["query", "limit"]])

    op, whole = "language_models.update_custom", made[0]
    same(answered(op, model_id=whole.id).model_dump(), whole.model_dump())
    change = {"name": fresh(), "identifier": "mistral/y", "extra": {"max_tokens": 9}}
    wanted = {"id": whole.id, **change}
    same(answered(op, model_id=whole.id, **change, api_key="sk-secret-other").model_dump(), wanted)
    same(answered(op, model_id=whole.id, name=None, identifier=None, api_key=None).model_dump(), wanted)
    same(client.sent(), {"name": None, "identifier": None, "api_key": None})
    same(type(answered(op, model_id=whole.id, extra=None).extra), dict)
    same(client.faults(op, model_id=whole.id, identifier="x"), [["body", "identifier"]])
    client.refused(409, "ConflictError", op, model_id=whole.id, name=made[1].name)


def a_custom_model_is_called_until_it_is_deleted(client):
    model = client("language_models.register_custom", name=fresh(), identifier="offline/echo")
    function = client.create(model=model.name)
    same(client.run(at_latest, function, input="through").message, "through")
    client("language_models.delete_custom", model_id=model.id)
    for operation, arguments in model_operations(model.id):
        client.missing("Custom model", operation, **arguments)
    client.refused(400, "BadRequestError", "functions.call", function_id=function.id, input="x")


def aliases_are_made_found_and_changed(client):
    op, marker = "language_models.create_alias", fresh()
    given = [
        {"name": f"{marker} a+b, é/«x» (1)", "fallback_models": ["a/b", "later", "a/b"], "description": "Which"},
        {"name": f"{marker} least", "fallback_models": ["offline/echo"]},
        {"name": f"{marker} none", "fallback_models": ["offline/echo"], "description": None},
        {"name": marker + "é" * (255 - len(marker)), "fallback_models": ["a/b"] * 16, "description": "é" * 1000},
    ]
    made = [client(op, **arguments) for arguments in given]
    for alias, arguments in zip(made, given):
        same((alias.name, alias.fallback_models, alias.description),
             (arguments["name"], arguments["fallback_models"], arguments.get("description")))
        same(client("language_models.get_alias", alias_id=alias.id).model_dump(), alias.model_dump())
        same(client("language_models.get_alias_by_name", name=alias.name).model_dump(), alias.model_dump())
    client.refused(409, "ConflictError", op, name=made[1].name, fallback_models=["a/b"])
    client.refused(400, "BadRequestError", op, name=marker, fallback_models=["a/b", marker])
    for arguments, place in CASES["refused_aliases"]:
        same(client.faults(op, **arguments), [place])

    op = "language_models.list_aliases"
    page = client(op)
    names = [alias.name for alias in page.data]
    same(names, sorted(names), "order")
    assert {alias.id for alias in made} <= {alias.id for alias in page.data}, "one is not listed"
    part = client(op, offset=1, limit=2)
    same((part.data, part.meta), (page.data[1:3], page.meta))
    same(client.faults(op, limit=101), [["query", "limit"]])

    op, whole = "language_models.update_alias", made[0]
    same(client(op, alias_id=whole.id).model_dump(), whole.model_dump())
    change = {"name": fresh(), "fallback_models": ["c/d"], "description": "Other"}
    wanted = {"id": whole.id, **change}
    same(client(op, alias_id=whole.id, **change).model_dump(), wanted)
    same(client(op, alias_id=whole.id, name=None, fallback_models=None).model_dump(), wanted)
    same(client(op, alias_id=whole.id, description=None).description, None)
    same(client.faults(op, alias_id=whole.id, fallback_models=[]), [["body", "fallback_models"]])
    client.refused(409, "ConflictError", op, alias_id=whole.id, name=made[1].name)
    client.refused(400, "BadRequestError", op, alias_id=whole.id, fallback_models=[change["name"]])


def an_alias_stands_for_its_list(client):
    inner = client("language_models.create_alias", name=fresh(), fallback_models=["nobody/nothing", "offline/echo"])
    outer = client("language_models.create_alias", name=fresh(), fallback_models=["no-such-name", inner.name])
    for model in (outer.name, {"name": outer.name, "options": {"seed": 1}}, ["a/b", outer.name]):
        function = client.create(model=model)
        result = client.run(at_latest, function, input="through")
        same((result.message, client.span(result.span_id).meta["model"]), ("through", "offline/echo"))
    same(text_of(client.stream(stream_of_latest, function, input="through")), "through")
    client("language_models.delete_alias", alias_id=inner.id)
    for operation, arguments in alias_operations(inner.id):
        client.missing("Alias", operation, **arguments)
    client.refused(400, "BadRequestError", "functions.call", function_id=function.id, input="x")


def texts_become_vectors(client):
    op, texts = "embeddings.create", ["a small boat", "the sea"]
    one, both = client(op, input=texts[0]), client(op, input=texts)
    same((one.model, both.model), ("offline/embed", "offline/embed"))
    same([(item["index"], len(item["embedding"])) for item in both.data], [(0, 1536), (1, 1536)])
    same((one.data[0], one.usage), (both.data[0], {"prompt_tokens": 3, "total_tokens": 3}))
    span = client.span(client.came.headers["x-span-id"])
    same((span.type, span.input, span.meta["count"]), ("embedding", texts, 2))
    short = client(op, input=texts, model={"name": "offline/embed", "options": {"dimensions": 3}})
    same([len(item["embedding"]) for item in short.data], [3, 3])
    for model in ("offline/embed", ["offline/fail-cut", "offline/embed"], None):
        same(client(op, input="x", model=model).model, "offline/embed")
    same(client.faults(op, input=[]), [["body", "input"]])
    same(client.faults(op, input=["x", ""]), [["body", "input", 1]])
    detail = client.refused(400, "ContextWindowExceededError", op, input=["x", " a" * 8192])
    assert "index 1" in detail["reason"] and "8192" in detail["reason"], detail
    client.refused(502, "UpstreamError", op, input="x", model="offline/fail-cut")


def texts_are_put_in_order(client):
    op, query = "rerank.documents", "What is the capital of France?"
    texts = ["Berlin is the capital of Germany.", "Bananas are yellow.", "The capital of France is Paris."]
    documents = [{"text": text, "metadata": {"place": place}} for place, text in enumerate(texts)]
    given = {"query": query, "documents": documents, "model": "offline/rerank"}
    whole = client(op, **given)
    same(client.came.headers["x-span-id"], whole.id)
    same([result.index for result in whole.results], [2, 0, 1])
    same([result.document.model_dump() for result in whole.results], [documents[place] for place in (2, 0, 1)])
    same((whole.model, whole.cost.total), ("offline/rerank", 0.0))
    best = client(op, **given, top_k=1, return_documents=False, max_chunks_per_doc=None)
    same([(result.index, result.document) for result in best.results], [(2, None)])
    same(client.faults(op, **{**given, "documents": []}), [["body", "documents"]])
    same(client.faults(op, **given, top_k=0), [["body", "top_k"]])
    client.refused(400, "BadRequestError", op, **{**given, "model": "nobody/x"})
    listed = {model.name: model for model in client("rerank.list_models").data}
    same(listed["offline/rerank"].cost_per_request, 0.0)


def every_operation_wants_a_token(client):
    operations = [
        *function_operations(), *model_operations(), *alias_operations(), *dataset_operations(), *span_operations(),
        ("functions.create", {"name": "x", "instructions": "i"}), ("functions.list", {}),
        ("functions.get_by_name", {"name": "a/b"}), ("call", {"name": "x"}), ("stream", {"name": "x"}),
        ("spans.create", {"name": "x"}),
        ("language_models.register_custom", {"name": "x", "identifier": "a/b"}), ("language_models.list_custom", {}),
        ("language_models.get_custom_by_name", {"name": "x"}),
        ("language_models.create_alias", {"name": "x", "fallback_models": ["a/b"]}),
        ("language_models.list_aliases", {}), ("language_models.get_alias_by_name", {"name": "x"}),
        ("embeddings.create", {"input": "x"}), ("rerank.list_models", {}),
        ("rerank.documents", {"query": "x", "documents": [], "model": "a/b"}),
    ]
    for token in ("wrong-token-0123456789-abcdef", None):
        stranger = Client(client.synchronous, token=token)
        for operation, arguments in operations:
            stranger.refused(401, "UnauthorizedError", operation, **arguments)
            same(stranger.came.headers["www-authenticate"], "Bearer")
        stranger.close()


def the_transport_is_no_surprise(client):
    slashed = Client(client.synchronous, url=f"{URL}/")
    slashed("functions.list", limit=1)
    slashed.close()
    backoff = RetryConfig("backoff", BackoffStrategy(10, 20, 1.5, 400), True)
    patient = Client(client.synchronous, retry_config=backoff)
    failing = patient.create(model="offline/fail-status-500")
    patient.refused(502, "UpstreamError", "functions.call", function_id=failing.id)
    patient.close()
    client.refused(405, "MethodNotAllowedError", "functions.create", name="x", instructions="i",
                   server_url=f"{URL}/functions/by-name")
    assert client.came.headers["allow"], "no Allow"
    client.refused(404, "NotFoundError", "functions.list", server_url=f"{URL}/nothing")


TOUR = [
    a_function_comes_back_as_it_was_given,
    every_form_of_a_model_is_stored,
    settings_are_kept_as_they_were_sent,
    what_cannot_be_a_function_is_refused,
    functions_are_listed,
    a_change_of_the_definition_makes_a_revision,
    revisions_are_listed_and_read,
    what_is_not_there_is_missing,
    an_id_that_is_none_is_refused,
    every_input_reaches_the_model_and_the_span,
    a_span_holds_the_whole_call,
    an_answer_takes_the_form_that_was_asked_for,
    an_older_revision_stays_callable,
    a_call_that_cannot_begin_is_refused,
    the_failures_of_models_are_typed,
    custom_models_are_registered_found_and_changed,
    a_custom_model_is_called_until_it_is_deleted,
    aliases_are_made_found_and_changed,
    an_alias_stands_for_its_list,
    texts_become_vectors,
    texts_are_put_in_order,
    *streams.TOUR,
    *records.TOUR,
    every_operation_wants_a_token,
    the_transport_is_no_surprise,
]


def main():
    # Some operations are called although the client advises against them.
    warnings.simplefilter("ignore", DeprecationWarning)
    failed = 0
    for synchronous in (True, False):
        for step in TOUR:
            client = Client(synchronous)
            name = f"python, {'' if synchronous else 'a'}synchronous: {step.__name__.replace('_', ' ')}"
            try:
                step(client)
                print(f"ok      {name}", flush=True)
            except Exception:
                failed += 1
                print(f"FAILED  {name}\n{traceback.format_exc()}asked {Client.latest.said}", flush=True)
                print(f"came  {Client.latest.answer():.500}", flush=True)
            client.close()
    sys.exit(failed > 0)


main()
