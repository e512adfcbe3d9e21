"""Streams, calls that bring their definition along, and the settings that change how a call is answered."""

import json
import time

from client import (
    CALLS, CASES, INPUT_SCHEMA, NOBODY, OUTPUT_SCHEMA, STREAMS, at_latest, broken, by_name, fresh, same,
    stream_by_name, stream_of_latest, stream_of_revision, text_of, value_of,
)

TEXT = "a text of more than one piece"


def a_stream_gives_the_text_of_a_plain_call(client):
    echo = client.create(model="offline/echo")
    named = fresh()
    client.run(by_name, named, model="offline/echo")
    for given in [*CASES["inputs"], "one piece after the other " * 40]:
        wanted = client.run(at_latest, echo, input=given).message
        for way, target in [*((way, echo) for way in STREAMS), (stream_by_name, named)]:
            stream = client.stream(way, target, input=given)
            same((stream.name, text_of(stream)), ("done", wanted))
            same((stream.last["chunk_type"], stream.last["finish_reason"]), ("text", "stop"))
            assert len(wanted) < 100 or len(stream.chunks) > 10, stream.chunks
            span = client.span(stream.span_id)
            same((span.name, span.input, span.output), ((named if target is named else echo.name), given, wanted))
            same((span.meta["streamed"], span.meta["usage"]), (True, stream.last["usage"]))
    cut = client.stream(stream_of_latest, client.create(model="offline/fail-length"), input="0123456789")
    same((text_of(cut), cut.last["finish_reason"]), ("01234", "length"))


def a_stream_takes_what_a_call_takes(client):
    shaped = client.create(model="offline/json", input_schema=INPUT_SCHEMA, output_schema=OUTPUT_SCHEMA)
    parent = client("spans.create", name="above")
    for way, target in [*((way, shaped) for way in STREAMS), (stream_by_name, shaped.name)]:
        stream = client.stream(way, target, input={"city": "Rome"}, parent_span_id=parent.id, tags=CASES["tags"],
                               examples=[{"input": "a", "output": "b", "comment": None}])
        same(stream.last["json_payload"]["city"], "Rome")
        span = client.span(stream.span_id)
        same((span.parent_id, span.trace_id), (parent.id, parent.trace_id))
        same((span.meta["tags"], span.meta["revision_id"]), (CASES["tags"], shaped.revision_id))


def a_structured_stream_of_a_function_is_json_text(client):
    for schema, value in CASES["streamed"]:
        function = client.create(model="offline/echo", output_schema=schema)
        for way in STREAMS:
            stream = client.stream(way, function, input=value)
            same((stream.name, stream.last["chunk_type"]), ("done", "json"))
            same((json.loads(text_of(stream)), stream.last["json_payload"]), (value, value))
            same(client.span(stream.span_id).output, value)


def a_structured_stream_by_name_tells_where_each_piece_belongs(client):
    for schema, value in CASES["streamed"]:
        name = fresh()
        stream = client.stream(stream_by_name, name, model="offline/echo", output_schema=schema, input=value)
        same((stream.name, stream.last["chunk_type"]), ("done", "json"))
        same((value_of(stream), stream.last["json_payload"]), (value, value))
        same(client.run(by_name, name, input=value).json_payload, value)
    forecast = client.stream(stream_by_name, fresh(), model="offline/json", output_schema=OUTPUT_SCHEMA,
                             input={"city": "Reykjavik, the capital of Iceland"})
    same(value_of(forecast), forecast.last["json_payload"])
    assert sum(chunk["json_path"] == "city" for chunk in forecast.chunks) > 2, forecast.chunks
    hollow = {"list": [], "object": {}, "n": 1}
    stream = client.stream(stream_by_name, fresh(), model="offline/echo", output_schema={}, input=hollow)
    same([(chunk["json_path"], chunk["delta"]) for chunk in stream.chunks], [("n", 1)])
    same(stream.last["json_payload"], hollow)
    null = client.stream(stream_by_name, fresh(), model="offline/json", output_schema={"type": "null"}, input="x")
    same([(chunk["json_path"], chunk["delta"]) for chunk in null.chunks], [("_root", None)])


def a_stream_that_cannot_begin_is_refused(client):
    for index, case in enumerate(CASES["failures"]):
        # A stream of this one has begun when it turns out to be wrong.
        if case["model"] == "offline/fail-json":
            continue
        schema = OUTPUT_SCHEMA if case.get("shaped") else None
        function = client.create(model=case["model"], output_schema=schema)
        operation, target = [*STREAMS, lambda function: stream_by_name(function.name)][index % 3](function)
        detail = client.refused(case["status"], case["type"], operation, **target, input={"city": "Oslo"})
        same(client.came.headers["x-span-id"], detail["span_id"])
        same(client.span(detail["span_id"]).meta["error_type"], case["type"])
    shaped = client.create(model="offline/json", input_schema=INPUT_SCHEMA)
    for operation, target in (*(way(shaped) for way in STREAMS), stream_by_name(shaped.name)):
        same(client.faults(operation, **target, input=5), [["body", "input"]])
        same(client.span(client.came.headers["x-span-id"]).input, 5)
        client.missing("Parent span", operation, **target, parent_span_id=NOBODY)


def a_stream_that_breaks_ends_with_an_error(client):
    for case in CASES["broken_streams"]:
        model = client("language_models.register_custom", name=fresh(), extra={"timeout_seconds": 0.2},
                       identifier=case.get("model") or broken(case["breaks"]))
        function = client.create(model=model.name, output_schema=case.get("schema"))
        for way, target in [*((way, function) for way in STREAMS), (stream_by_name, function.name)]:
            stream = client.stream(way, target, input={"city": "Oslo"})
            same((stream.name, stream.last["error_type"]), ("error", case["type"]))
            assert stream.chunks, "it had not begun"
            span = client.span(stream.span_id)
            same((span.error.split(": ")[0], span.meta["error_type"]), (case["type"], case["type"]))


def another_model_takes_over_where_that_is_wanted(client):
    # What repeats itself cannot be gone on with: nobody could tell a repetition from the text.
    text = " ".join(f"word{number}" for number in range(400))
    unbegun = client.create(model=["offline/fail-status-503", "offline/fail-stream-cut-0", "offline/echo"])
    begun = client.create(model=[broken("cut"), "offline/echo"])
    for way in STREAMS:
        stream = client.stream(way, unbegun, input=text)
        same((text_of(stream), "failover" in stream.last), (text, False))
        same(client.span(stream.span_id).meta["model"], "offline/echo")
        same(client.stream(way, begun, input=text).name, "error")
    client("functions.update", function_id=begun.id, configuration={"invocation.stream.failover": "continue"})
    stream = client.stream(stream_of_latest, begun, input=text)
    same((stream.name, stream.last["failover"]), ("done", True))
    same((text_of(stream), client.span(stream.span_id).output), (text, text))
    same(client.stream(stream_of_revision, begun, input=text).name, "error")


def a_reader_who_leaves_ends_the_call(client):
    late = client("language_models.register_custom", name=fresh(), identifier="offline/fail-stream-stall-1",
                  extra={"timeout_seconds": 60})
    operation, target = stream_by_name(fresh())
    [first] = client.events(client(operation, **target, model=late.name, input=TEXT), 1)
    same((first.event, first.data.delta), (None, TEXT[:8]))
    span = client.until(lambda span: span.error, first.data.span_id)
    same(span.error, "client disconnected")


def a_call_by_name_makes_and_changes_its_function(client):
    name, op = fresh("by/name"), "functions.get_by_name"
    given = {"instructions": "Forecast it.", "input_schema": INPUT_SCHEMA, "output_schema": OUTPUT_SCHEMA}
    parent = client("spans.create", name="above")
    result = client.run(by_name, name, **given, model="offline/json", input={"city": "Rome"}, tags=CASES["tags"],
                        examples=[{"input": "a", "output": "b"}], parent_span_id=parent.id)
    same((result.message, result.json_payload["city"]), (None, "Rome"))
    first = client(op, name=name)
    same((first.instructions, first.input_schema, first.output_schema, first.model.name),
         (*given.values(), "offline/json"))
    span = client.span(result.span_id)
    same((span.name, span.parent_id, span.meta["tags"]), (name, parent.id, CASES["tags"]))
    same((span.meta["function_id"], span.meta["revision_id"]), (first.id, first.revision_id))

    def used(**arguments):
        result = client.run(by_name, name, input={"city": "Rome"}, **arguments)
        return client.span(result.span_id).meta["revision_id"]

    same({used(), used(**given), used(model="offline/json")}, {first.revision_id})
    changed = used(instructions="Forecast it well.")
    same((changed != first.revision_id, changed), (True, client(op, name=name).revision_id))
    same(used(), changed, "what is not given comes from the latest")
    same(used(instructions="Forecast it."), first.revision_id, "a definition that was there before")
    same(client("functions.revisions.list", function_id=first.id).meta.total_count, 2)
    for form in (["nobody/nothing", {"name": "offline/echo"}], {"name": "offline/echo", "options": {"a": 1}}):
        answer = client.run(by_name, fresh(), model=form, input="x")
        same((answer.message, client.span(answer.span_id).meta["model"]), ("x", "offline/echo"))

    least = fresh()
    client.run(by_name, least)
    same(client(op, name=least).instructions, "You are a helpful assistant")
    nothing = dict.fromkeys(("instructions", "input_schema", "output_schema", "input", "examples", "parent_span_id",
                             "tags", "configuration"))
    client.run(by_name, fresh(), **nothing)


def settings_that_a_call_by_name_brings_are_merged(client):
    name = fresh()
    client.run(by_name, name, model="offline/echo", input_schema=INPUT_SCHEMA, input={"city": "Rome"})
    client.refused(422, "RequestValidationError", "call", name=name, input=5)
    result = client.run(by_name, name, input=5, configuration={"invocation_cache_ttl": 60})
    # The client adds its own defaults, and one of them switches the check of the input off.
    same(client.sent()["configuration"], {
        "invocation.few_shot.count": 3, "invocation.structured_generation.max_attempts": 5, "invocation.cache.ttl": 60,
        "beta.invocation.input_validation.enabled": False, "beta.invocation.xml_mode.enabled": False,
    })
    settings = client.sent()["configuration"]
    same(result.message, "5")
    client("functions.get_by_name", name=name)
    same(client.body()["configuration"], settings)
    client.run(by_name, name, True, input=5)


def a_call_by_name_that_cannot_begin_is_refused(client):
    for operation in ("call", "stream"):
        for arguments, place in CASES["refused_calls"]:
            same(client.faults(operation, **{"name": fresh(), "input": "x", **arguments}), [place])
        same(client.faults(operation, name=fresh(), configuration={"invocation_cache_ttl": -1}),
             [["body", "configuration", "invocation.cache.ttl"]])
        client.missing("Parent span", operation, name=fresh(), parent_span_id=NOBODY)
        client.refused(400, "BadRequestError", operation, name=fresh(), model="nobody/nothing", input="x")


def an_answer_is_kept_as_long_as_the_function_asks(client):
    plain = client.create(model="offline/echo", configuration={"invocation_cache_ttl": 60})
    shaped = client.create(model="offline/json", output_schema=OUTPUT_SCHEMA,
                           configuration={"invocation_cache_ttl": 60})
    first = client.run(at_latest, plain, input=TEXT)
    for call in CALLS:
        again = client.run(call, plain, True, input=TEXT, tags=CASES["tags"])
        same((again.message, again.usage["total_tokens"], again.cost["total"] == 0), (TEXT, 0, True))
        span = client.span(again.span_id)
        same((span.id != first.span_id, span.meta["cached"], span.output), (True, True, TEXT))
    for way, target in [*((way, plain) for way in STREAMS), (stream_by_name, plain.name)]:
        stream = client.stream(way, target, True, input=TEXT)
        same(([chunk["delta"] for chunk in stream.chunks], stream.last["usage"]["total_tokens"]), ([TEXT], 0))

    fresh_one = client.stream(stream_by_name, shaped.name, input={"city": "Reykjavik, the capital"})
    kept = client.stream(stream_by_name, shaped.name, True, input={"city": "Reykjavik, the capital"})
    same(value_of(kept), value_of(fresh_one))
    paths = [chunk["json_path"] for chunk in kept.chunks]
    same(len(paths), len(set(paths)), "one chunk for each leaf")
    same(client.run(at_latest, shaped, True, input={"city": "Reykjavik, the capital"}).json_payload, value_of(kept))

    client.run(at_latest, plain, input="another text")
    client("functions.update", function_id=plain.id, instructions="Another.")
    client.run(at_latest, plain, input=TEXT)
    brief = client.create(model="offline/echo", configuration={"invocation_cache_ttl": 1})
    client.run(at_latest, brief, input="x")
    time.sleep(1.1)
    client.run(at_latest, brief, input="x")


def settings_change_how_a_model_is_asked(client):
    # Without an input the instructions are said to the model, and it answers with them.
    marked = client.create(model="offline/echo", instructions=CASES["xml_answer"], output_schema=OUTPUT_SCHEMA,
                           configuration={"beta_invocation_xml_mode_enabled": True})
    for call in CALLS:
        same(client.run(call, marked).json_payload, CASES["xml_value"])
    for way in STREAMS:
        stream = client.stream(way, marked)
        same((len(stream.chunks), json.loads(text_of(stream))), (1, CASES["xml_value"]))
    stream = client.stream(stream_by_name, marked.name)
    same((value_of(stream), len(stream.chunks)), (CASES["xml_value"], 5))

    slow = client.create(model=["offline/fail-delay-5000", "offline/echo"])
    client("functions.update", function_id=slow.id, configuration={"invocation.hedge.after_ms": 50})
    begun = time.monotonic()
    result = client.run(at_latest, slow, input="x")
    assert time.monotonic() - begun < 4, "nobody else was asked"
    same((result.message, client.span(result.span_id).meta["model"]), ("x", "offline/echo"))


TOUR = [
    a_stream_gives_the_text_of_a_plain_call,
    a_stream_takes_what_a_call_takes,
    a_structured_stream_of_a_function_is_json_text,
    a_structured_stream_by_name_tells_where_each_piece_belongs,
    a_stream_that_cannot_begin_is_refused,
    a_stream_that_breaks_ends_with_an_error,
    another_model_takes_over_where_that_is_wanted,
    a_reader_who_leaves_ends_the_call,
    a_call_by_name_makes_and_changes_its_function,
    settings_that_a_call_by_name_brings_are_merged,
    a_call_by_name_that_cannot_begin_is_refused,
    an_answer_is_kept_as_long_as_the_function_asks,
    settings_change_how_a_model_is_asked,
]
