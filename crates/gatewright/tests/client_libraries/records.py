"""What is kept beside functions: examples, feedback, the clients' own spans, metrics, and what the observer says."""

import json
from datetime import datetime, timedelta, timezone
from uuid import uuid4

from client import (
    CALLS, CASES, NOBODY, OUTPUT_SCHEMA, at_latest, by_name, entry_operations, fresh, metric_operations, same,
    stream_by_name, stream_of_latest,
)


def examples_are_kept_read_and_changed(client):
    dataset, op = client.create().dataset_id, "datasets.create_entry"
    made = [client(op, dataset_id=dataset, input=value, output=value) for value, _ in CASES["entry_values"]]
    for entry, (_, text) in zip(made, CASES["entry_values"]):
        same((entry.input, entry.output, entry.expected, entry.comment), (text, text, None, None))
    whole = client(op, dataset_id=dataset, input={"a": 1}, output=None, expected=[2], comment="é\n")
    same(client.sent()["output"], None)
    same((whole.input, whole.output, whole.expected, whole.comment), ('{"a":1}', "null", "[2]", "é\n"))
    made.append(whole)
    for entry in made:
        read = client("datasets.get_entry", dataset_id=dataset, entry_id=entry.id)
        same(read.model_dump(), entry.model_dump())

    op = "datasets.list_entries"
    page = client(op, dataset_id=dataset)
    same((page.meta.total_count, sorted(item.id for item in page.data)), (len(made), sorted(item.id for item in made)))
    part = client(op, dataset_id=dataset, offset=1, limit=2)
    same((part.data, part.meta), (page.data[1:3], page.meta))
    for argument, value in (("limit", 0), ("limit", 101), ("offset", -1)):
        same(client.faults(op, dataset_id=dataset, **{argument: value}), [["query", argument]])

    op, entry = "datasets.entries.update", {"dataset_id": dataset, "entry_id": whole.id}
    same(client(op, **entry).model_dump(), whole.model_dump())
    changed = client(op, **entry, input="x", output={"y": [1]}, expected="z", comment="c")
    same((changed.input, changed.output, changed.expected, changed.comment), ("x", '{"y":[1]}', "z", "c"))
    cleared = client(op, **entry, expected=None, comment=None)
    same((cleared.output, cleared.expected, cleared.comment), ('{"y":[1]}', None, None))
    same(client("datasets.get_entry", **entry).model_dump(), cleared.model_dump())

    client("datasets.delete_entry", **entry)
    same(client("datasets.list_entries", dataset_id=dataset).meta.total_count, len(made) - 1)
    elsewhere = client.create().dataset_id
    for operation, arguments in [*entry_operations(dataset, whole.id), *entry_operations(elsewhere, made[0].id)]:
        client.missing("Dataset entry", operation, **arguments)
    for operation, arguments in entry_operations(dataset, "x"):
        same(client.faults(operation, **arguments), [["path", "entry_id"]])


def the_nearest_examples_are_found_and_shown_to_the_model(client):
    texts = ["the weather in Oslo", "the weather in Rome", "a parcel that is late", "an invoice to be paid"]
    function, op = client.create(model="offline/json", output_schema=OUTPUT_SCHEMA), "datasets.query_entries"
    dataset = {"dataset_id": function.dataset_id}
    same(client(op, **dataset, query="x"), [])
    for text in texts:
        client("datasets.create_entry", **dataset, input=text, output={"city": "Oslo"})
    found = client(op, **dataset, query="how is the weather in Rome", limit=2)
    same([entry.input for entry in found], [texts[1], texts[0]])
    same(client("datasets.get_entry", **dataset, entry_id=found[0].id).model_dump(), found[0].model_dump())
    for limit in (0, 101):
        same(client.faults(op, **dataset, query="x", limit=limit), [["query", "limit"]])

    def shown(way, target, run):
        return client.span(run(way, target, input="how is the weather in Rome").span_id).meta["few_shot_count"]

    for way, target, run in [*((call, function, client.run) for call in CALLS), (by_name, function.name, client.run),
                             (stream_of_latest, function, client.stream)]:
        same(shown(way, target, run), 3)
    for count, wanted in ((2, 2), (0, 0), (100, 4)):
        client("functions.update", function_id=function.id, configuration={"invocation.few_shot.count": count})
        same(shown(at_latest, function, client.run), wanted)


def feedback_is_kept_with_the_span(client):
    function, op = client.create(model="offline/json", output_schema=OUTPUT_SCHEMA), "spans.submit_feedback"

    def examples():
        return client("datasets.list_entries", dataset_id=function.dataset_id).data

    span_id = client.run(at_latest, function, input={"city": "Rome"}).span_id
    for arguments in ({}, {"comment": None, "save_to_dataset": None}, {"comment": "é", "save_to_dataset": False}):
        given = client(op, span_id=span_id, score=0.25, **arguments)
        same((given.span_id, given.score, given.comment), (span_id, 0.25, arguments.get("comment")))
        same((given.example_saved, examples()), (False, []))
        feedback = client.span(span_id).feedback
        same((feedback.score, feedback.comment), (0.25, arguments.get("comment")))
    same(client(op, span_id=span_id, score=1, comment="right", save_to_dataset=True).example_saved, True)
    span, [entry] = client.span(span_id), examples()
    same((span.feedback.score, span.feedback.comment), (1.0, "right"))
    same((json.loads(entry.input), json.loads(entry.output)), (span.input, span.output))
    client(op, span_id=span_id, score=0)
    same((client.span(span_id).feedback.score, len(examples())), (0.0, 1))
    for score in (-0.1, 1.1):
        same(client.faults(op, span_id=span_id, score=score), [["body", "score"]])


def answers_are_saved_as_examples(client):
    op = "spans.save_examples"
    shaped = client.create(model="offline/json", output_schema=OUTPUT_SCHEMA)
    echo = client.create(model="offline/echo")
    above = client("spans.create", name="a chain of calls")
    client.refused(400, "BadRequestError", op, span_id=above.id)
    client.run(at_latest, echo, input="hello", parent_span_id=above.id)
    between = client("spans.create", name="a step", parent_id=above.id)
    last = client.run(at_latest, shaped, input={"city": "Rome"}, parent_span_id=between.id)
    saved = client(op, span_id=last.span_id)
    same((saved.dataset_id, saved.input, json.loads(saved.output)),
         (shaped.dataset_id, '{"city":"Rome"}', last.json_payload))
    entry = client("datasets.get_entry", dataset_id=saved.dataset_id, entry_id=saved.dataset_entry_id)
    same((entry.input, entry.output), (saved.input, saved.output))
    saved = client(op, span_id=above.id)
    assert saved.dataset_id in (shaped.dataset_id, echo.dataset_id), saved
    [entry] = client("datasets.list_entries", dataset_id=echo.dataset_id).data
    same((entry.input, entry.output), ("hello", "hello"))


def a_client_makes_spans_of_its_own(client):
    op, start = "spans.create", datetime(2025, 1, 31, 12, 0, 0, 123456, timezone(timedelta(hours=2)))
    least = client(op, name="least")
    same((least.name, least.parent_id, least.end_time, least.error, least.score), ("least", None, None, None, None))
    assert abs(least.start_time - datetime.now(timezone.utc)) < timedelta(minutes=1), least.start_time
    nothing = dict.fromkeys(("start_time", "id", "trace_id", "parent_id", "type", "end_time", "input", "output",
                             "error", "score"))
    same(client(op, name="null", **nothing).parent_id, None)
    given = {"name": "whole", "id": str(uuid4()), "trace_id": str(uuid4()), "type": "tool", "input": {"a": [1, None]},
             "output": [True], "error": "no", "meta": {"k": {"v": 1}}, "score": 7}
    whole = client(op, **given, start_time=start, end_time=start + timedelta(seconds=1))
    same({member: getattr(whole, member) for member in given}, given)
    same((whole.start_time, whole.end_time - whole.start_time), (start, timedelta(seconds=1)))
    for span in (least, whole):
        read = client.span(span.id)
        same((read.feedback, {**read.model_dump(), "feedback": None}), (None, {**span.model_dump(), "feedback": None}))
    plain = client(op, name="no offset", start_time=datetime(2025, 1, 31, 12))
    same(plain.start_time, datetime(2025, 1, 31, 12, tzinfo=timezone.utc))

    client.refused(409, "ConflictError", op, name="again", id=whole.id)
    client.missing("Parent span", op, name="x", parent_id=NOBODY)
    for member in ("id", "trace_id", "parent_id"):
        same(client.faults(op, name="x", **{member: "x"}), [["body", member]])


def a_client_changes_and_deletes_its_spans(client):
    op, span = "spans.update", client("spans.create", name="open", input={"a": 1}, meta={"a": 1, "b": 1})
    same(client(op, span_id=span.id).name, "open")
    end = span.start_time + timedelta(seconds=1)
    change = {"name": "closed", "type": "tool", "end_time": end, "input": "in", "output": "out", "error": "e",
              "score": 3}
    changed = client(op, span_id=span.id, **change, meta={"b": 2})
    same({member: getattr(changed, member) for member in change}, change)
    same((changed.id, changed.trace_id, changed.start_time), (span.id, span.trace_id, span.start_time))
    same({"a": 1, "b": 2}, {member: changed.meta[member] for member in ("a", "b")})
    cleared = client(op, span_id=span.id, name=None, output=None, error=None, score=None, end_time=None)
    same((cleared.name, cleared.output, cleared.error, cleared.score, cleared.end_time), ("closed",) + (None,) * 4)
    same(client.span(span.id).input, "in")
    called = client.run(at_latest, client.create(model="offline/echo"), input="x", parent_span_id=span.id)
    same(client(op, span_id=called.span_id, meta={"mine": 1}, score=50).meta["mine"], 1)
    same((client.span(called.span_id).meta["model"], client.span(called.span_id).score), ("offline/echo", 50))

    client("spans.delete", span_id=span.id)
    for operation in ("spans.get", "spans.update", "spans.delete", "spans.save_examples"):
        client.missing("Span", operation, span_id=span.id)
    same(client.span(called.span_id).parent_id, span.id, "a child keeps its parent")


def spans_below_a_span_share_its_trace(client):
    root = client("spans.create", name="root", trace_id=str(uuid4()))
    step = client("spans.create", name="step", parent_id=root.id)
    echo = client.create(model="offline/echo")
    called = client.span(client.run(at_latest, echo, input="x", parent_span_id=step.id).span_id)
    named = client.span(client.run(by_name, echo.name, input="x", parent_span_id=called.id).span_id)
    streamed = client.span(client.stream(stream_by_name, echo.name, input="x", parent_span_id=named.id).span_id)
    chain = [root, step, called, named, streamed]
    same({span.trace_id for span in chain}, {root.trace_id})
    same([span.parent_id for span in chain], [None, *(span.id for span in chain[:-1])])
    alone = client("spans.create", name="alone")
    assert alone.trace_id != root.trace_id, alone


def a_span_is_measured(client):
    span_id, op = client("spans.create", name="measured").id, "span_metrics.create_metric"
    given = [("accuracy", 0.25, "é"), ("accuracy", 1, None), ("latency", -12.5, None), ("x" * 50, 0, "")]
    made = []
    for dimension, value, comment in given:
        more = {} if comment is None else {"comment": comment}
        metric = client(op, span_id=span_id, dimension=dimension, value=value, **more)
        same((metric.span_id, metric.dimension, metric.value, metric.comment),
             (span_id, dimension, float(value), comment))
        made.append(metric)
    same(client(op, span_id=span_id, dimension="none", value=1, comment=None).comment, None)
    for metric in made:
        read = client("span_metrics.get", span_id=span_id, metric_id=metric.id)
        same(read.model_dump(), metric.model_dump())

    op = "span_metrics.list"
    page = client(op, span_id=span_id)
    same((page.meta.total_count, {metric.id for metric in made} < {metric.id for metric in page.data}), (5, True))
    part = client(op, span_id=span_id, offset=1, limit=2)
    same((part.data, part.meta), (page.data[1:3], page.meta))
    same(client.faults(op, span_id=span_id, limit=101), [["query", "limit"]])

    op, metric = "span_metrics.update_metric", {"span_id": span_id, "metric_id": made[0].id}
    same(client(op, **metric).model_dump(), made[0].model_dump())
    changed = client(op, **metric, dimension="recall", value=0.5, comment="c")
    same((changed.dimension, changed.value, changed.comment, changed.created_at),
         ("recall", 0.5, "c", made[0].created_at))
    kept = client(op, **metric, dimension=None, value=None, comment=None)
    same((kept.dimension, kept.value, kept.comment), ("recall", 0.5, None))

    client("span_metrics.delete", **metric)
    same(client("span_metrics.list", span_id=span_id).meta.total_count, 4)
    elsewhere = client("spans.create", name="another").id
    for operation, arguments in [*metric_operations(span_id, made[0].id), *metric_operations(elsewhere, made[1].id)]:
        client.missing("Metric", operation, **arguments)
    for operation, arguments in metric_operations(span_id, "x"):
        same(client.faults(operation, **arguments), [["path", "metric_id"]])


def the_observer_scores_what_was_answered(client):
    for model, is_shaped, score in CASES["scores"]:
        function = client.create(model=model, output_schema=OUTPUT_SCHEMA if is_shaped else None)
        result = client.run(at_latest, function, input={"city": "Rome"})
        span = client.until(lambda span: span.score is not None, result.span_id)
        same((span.score, span.meta["observer"]["score"], sorted(span.meta["observer"])),
             (score, score, ["observations", "score"]))
    echo = client.create(model="offline/echo")
    streamed = client.stream(stream_of_latest, echo, input="x").span_id
    same(client.until(lambda span: span.score is not None, streamed).score, 100)
    mine = client.run(at_latest, echo, input="x").span_id
    client("spans.update", span_id=mine, score=7)
    same(client.until(lambda span: "observer" in span.meta, mine).score, 7, "a client's score is never overwritten")


TOUR = [
    examples_are_kept_read_and_changed,
    the_nearest_examples_are_found_and_shown_to_the_model,
    feedback_is_kept_with_the_span,
    answers_are_saved_as_examples,
    a_client_makes_spans_of_its_own,
    a_client_changes_and_deletes_its_spans,
    spans_below_a_span_share_its_trace,
    a_span_is_measured,
    the_observer_scores_what_was_answered,
]
