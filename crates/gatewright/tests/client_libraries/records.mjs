/** What is kept beside functions: examples, feedback, the clients' own spans, metrics, and what the observer says. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";

import {
  CALLS, CASES, NOBODY, OUTPUT_SCHEMA, atLatest, byName, entryOperations, fresh, metricOperations, same, streamByName,
  streamOfLatest,
} from "./client.mjs";

async function examplesAreKeptReadAndChanged(client) {
  const { datasetId: dataset } = await client.create();
  let op = "datasets.createEntry";
  const made = [];
  for (const [value, text] of CASES.entry_values) {
    const entry = await client.call(op, dataset, { input: value, output: value });
    same(entry, { id: entry.id, input: text, output: text, expected: null, comment: null });
    made.push(entry);
  }
  const whole = await client.call(op, dataset, { input: { a: 1 }, output: null, expected: [2], comment: "é\n" });
  same(whole, { id: whole.id, input: '{"a":1}', output: "null", expected: "[2]", comment: "é\n" });
  made.push(whole);
  for (const entry of made) same(await client.call("datasets.getEntry", dataset, entry.id), entry);

  op = "datasets.listEntries";
  const page = await client.call(op, dataset);
  same([page.meta.totalCount, new Set(page.data)], [made.length, new Set(made)]);
  same(await client.call(op, dataset, 1, 2), { ...page, data: page.data.slice(1, 3) });
  for (const [place, ...args] of [["limit", 0, 0], ["limit", 0, 101], ["offset", -1]]) {
    await client.faulty([["query", place]], op, dataset, ...args);
  }

  op = "datasets.entries.update";
  const { id } = whole;
  same(await client.call(op, dataset, id, {}), whole);
  const changed = await client.call(op, dataset, id, { input: "x", output: { y: [1] }, expected: "z", comment: "c" });
  same(changed, { id, input: "x", output: '{"y":[1]}', expected: "z", comment: "c" });
  const cleared = await client.call(op, dataset, id, { expected: null, comment: null });
  same(cleared, { ...changed, expected: null, comment: null });
  same(await client.call("datasets.getEntry", dataset, id), cleared);

  await client.call("datasets.deleteEntry", dataset, id);
  same((await client.call("datasets.listEntries", dataset)).meta.totalCount, made.length - 1);
  const { datasetId: elsewhere } = await client.create();
  for (const operation of [...entryOperations(dataset, id), ...entryOperations(elsewhere, made[0].id)]) {
    await client.missing("Dataset entry", ...operation);
  }
  for (const operation of entryOperations(dataset, "x")) await client.faulty([["path", "entry_id"]], ...operation);
}

async function theNearestExamplesAreFoundAndShownToTheModel(client) {
  const texts = ["the weather in Oslo", "the weather in Rome", "a parcel that is late", "an invoice to be paid"];
  const made = await client.create({ model: "offline/json", outputSchema: OUTPUT_SCHEMA });
  const [op, { datasetId: dataset }, input] = ["datasets.queryEntries", made, "how is the weather in Rome"];
  same(await client.call(op, dataset, "x"), []);
  for (const text of texts) {
    await client.call("datasets.createEntry", dataset, { input: text, output: { city: "Oslo" } });
  }
  const found = await client.call(op, dataset, input, 2);
  same(found.map((entry) => entry.input), [texts[1], texts[0]]);
  same(await client.call("datasets.getEntry", dataset, found[0].id), found[0]);
  for (const limit of [0, 101]) await client.faulty([["query", "limit"]], op, dataset, "x", limit);

  const shown = async ({ spanId }) => (await client.span(spanId)).meta.few_shot_count;
  for (const way of CALLS) same(await shown(await client.run(way, made, { input })), 3);
  same(await shown(await client.run(byName, made.name, { input })), 3);
  same(await shown(await client.stream(streamOfLatest, made, { input })), 3);
  for (const [count, wanted] of [[2, 2], [0, 0], [100, 4]]) {
    await client.call("functions.update", made.id, { configuration: { "invocation.few_shot.count": count } });
    same(await shown(await client.run(atLatest, made, { input })), wanted);
  }
}

async function feedbackIsKeptWithTheSpan(client) {
  const op = "spans.submitFeedback";
  const made = await client.create({ model: "offline/json", outputSchema: OUTPUT_SCHEMA });
  const examples = async () => (await client.call("datasets.listEntries", made.datasetId)).data;
  const { spanId } = await client.run(atLatest, made, { input: { city: "Rome" } });
  for (const more of [{}, { comment: null, saveToDataset: null }, { comment: "é", saveToDataset: false }]) {
    const given = await client.call(op, spanId, { score: 0.25, ...more });
    const { comment = null } = more;
    same(given, { spanId, score: 0.25, comment, exampleSaved: false });
    same([await examples(), (await client.span(spanId)).feedback], [[], { score: 0.25, comment }]);
  }
  const saved = await client.call(op, spanId, { score: 1, comment: "right", saveToDataset: true });
  same(saved.exampleSaved, true);
  const [span, [entry, ...more]] = [await client.span(spanId), await examples()];
  same([span.feedback, more], [{ score: 1, comment: "right" }, []]);
  same([JSON.parse(entry.input), JSON.parse(entry.output)], [span.input, span.output]);
  await client.call(op, spanId, { score: 0 });
  same([(await client.span(spanId)).feedback.score, (await examples()).length], [0, 1]);
  for (const score of [-0.1, 1.1]) await client.faulty([["body", "score"]], op, spanId, { score });
}

async function answersAreSavedAsExamples(client) {
  const op = "spans.saveExamples";
  const shaped = await client.create({ model: "offline/json", outputSchema: OUTPUT_SCHEMA });
  const echo = await client.create({ model: "offline/echo" });
  const above = await client.call("spans.create", { name: "a chain of calls" });
  await client.refused(400, "BadRequestError", op, above.id);
  await client.run(atLatest, echo, { input: "hello", parentSpanId: above.id });
  const between = await client.call("spans.create", { name: "a step", parentId: above.id });
  const last = await client.run(atLatest, shaped, { input: { city: "Rome" }, parentSpanId: between.id });
  const saved = await client.call(op, last.spanId);
  same([saved.datasetId, saved.input, JSON.parse(saved.output)],
    [shaped.datasetId, '{"city":"Rome"}', last.jsonPayload]);
  const entry = await client.call("datasets.getEntry", saved.datasetId, saved.datasetEntryId);
  same([entry.input, entry.output], [saved.input, saved.output]);
  const { datasetId } = await client.call(op, above.id);
  assert.ok([shaped.datasetId, echo.datasetId].includes(datasetId), client.text);
  const { data } = await client.call("datasets.listEntries", echo.datasetId);
  same(data.map(({ input, output }) => [input, output]), [["hello", "hello"]]);
}

async function aClientMakesSpansOfItsOwn(client) {
  const op = "spans.create";
  const least = await client.call(op, { name: "least" });
  same([least.name, least.parentId, least.endTime, least.error, least.score], ["least", null, null, null, null]);
  assert.ok(Math.abs(least.startTime.getTime() - Date.now()) < 60_000, client.text);
  await client.call(op, {
    name: "null", startTime: null, id: null, traceId: null, parentId: null, type: null, endTime: null, input: null,
    output: null, error: null, score: null,
  });
  const given = {
    name: "whole", id: randomUUID(), traceId: randomUUID(), type: "tool", input: { a: [1, null] }, output: [true],
    error: "no", meta: { k: { v: 1 } }, score: 7, startTime: new Date("2025-01-31T12:00:00.123Z"),
    endTime: new Date("2025-01-31T12:00:01.123Z"),
  };
  const whole = await client.call(op, given);
  same(whole, { ...given, parentId: null });
  for (const span of [least, whole]) same(await client.span(span.id), { ...span, feedback: null });

  await client.refused(409, "ConflictError", op, { name: "again", id: whole.id });
  await client.missing("Parent span", op, { name: "x", parentId: NOBODY });
  for (const [member, place] of [["id", "id"], ["traceId", "trace_id"], ["parentId", "parent_id"]]) {
    await client.faulty([["body", place]], op, { name: "x", [member]: "x" });
  }
}

async function aClientChangesAndDeletesItsSpans(client) {
  const op = "spans.update";
  const span = await client.call("spans.create", { name: "open", input: { a: 1 }, meta: { a: 1, b: 1 } });
  same((await client.call(op, span.id, {})).name, "open");
  const change = {
    name: "closed", type: "tool", endTime: new Date(), input: "in", output: "out", error: "e", score: 3,
  };
  const changed = await client.call(op, span.id, { ...change, meta: { b: 2 } });
  same(changed, { ...span, ...change, meta: { ...changed.meta, a: 1, b: 2 } });
  const nothing = { name: null, output: null, error: null, score: null, endTime: null };
  same(await client.call(op, span.id, nothing), { ...changed, ...nothing, name: "closed" });
  const echo = await client.create({ model: "offline/echo" });
  const { spanId } = await client.run(atLatest, echo, { input: "x", parentSpanId: span.id });
  same((await client.call(op, spanId, { meta: { mine: 1 }, score: 50 })).meta.mine, 1);
  const called = await client.span(spanId);
  same([called.meta.model, called.score], ["offline/echo", 50]);

  await client.call("spans.delete", span.id);
  for (const operation of ["spans.get", "spans.delete", "spans.saveExamples"]) {
    await client.missing("Span", operation, span.id);
  }
  await client.missing("Span", "spans.update", span.id, {});
  same((await client.span(spanId)).parentId, span.id, "a child keeps its parent");
}

async function spansBelowASpanShareItsTrace(client) {
  const root = await client.call("spans.create", { name: "root", traceId: randomUUID() });
  const step = await client.call("spans.create", { name: "step", parentId: root.id });
  const echo = await client.create({ model: "offline/echo" });
  const below = (parent) => ({ input: "x", parentSpanId: parent.id });
  const called = await client.span((await client.run(atLatest, echo, below(step))).spanId);
  const named = await client.span((await client.run(byName, echo.name, below(called))).spanId);
  const streamed = await client.span((await client.stream(streamByName, echo.name, below(named))).spanId);
  const chain = [root, step, called, named, streamed];
  same(chain.map((span) => span.traceId), chain.map(() => root.traceId));
  same(chain.map((span) => span.parentId), [null, ...chain.slice(0, -1).map((span) => span.id)]);
  assert.notEqual((await client.call("spans.create", { name: "alone" })).traceId, root.traceId);
}

async function aSpanIsMeasured(client) {
  const { id: spanId } = await client.call("spans.create", { name: "measured" });
  let op = "spanMetrics.createMetric";
  const given = [
    { dimension: "accuracy", value: 0.25, comment: "é" }, { dimension: "accuracy", value: 1 },
    { dimension: "latency", value: -12.5, comment: null }, { dimension: "x".repeat(50), value: 0, comment: "" },
  ];
  const made = [];
  for (const request of given) {
    const metric = await client.call(op, spanId, request);
    same(metric, { ...metric, comment: null, ...request, spanId });
    made.push(metric);
  }
  for (const metric of made) same(await client.call("spanMetrics.get", spanId, metric.id), metric);

  op = "spanMetrics.list";
  const page = await client.call(op, spanId);
  same([page.meta.totalCount, new Set(page.data)], [made.length, new Set(made)]);
  same(await client.call(op, spanId, 1, 2), { ...page, data: page.data.slice(1, 3) });
  await client.faulty([["query", "limit"]], op, spanId, 0, 101);

  op = "spanMetrics.updateMetric";
  const [{ id }] = made;
  same(await client.call(op, spanId, id, {}), made[0]);
  const change = { dimension: "recall", value: 0.5, comment: "c" };
  same(await client.call(op, spanId, id, change), { ...made[0], ...change });
  same(await client.call(op, spanId, id, { dimension: null, value: null, comment: null }),
    { ...made[0], ...change, comment: null });

  await client.call("spanMetrics.delete", spanId, id);
  same((await client.call("spanMetrics.list", spanId)).meta.totalCount, made.length - 1);
  const { id: elsewhere } = await client.call("spans.create", { name: "another" });
  for (const operation of [...metricOperations(spanId, id), ...metricOperations(elsewhere, made[1].id)]) {
    await client.missing("Metric", ...operation);
  }
  for (const operation of metricOperations(spanId, "x")) await client.faulty([["path", "metric_id"]], ...operation);
}

async function theObserverScoresWhatWasAnswered(client) {
  const scored = (span) => span.score !== null;
  for (const [model, isShaped, score] of CASES.scores) {
    const made = await client.create({ model, outputSchema: isShaped ? OUTPUT_SCHEMA : null });
    const { spanId } = await client.run(atLatest, made, { input: { city: "Rome" } });
    const span = await client.until(scored, spanId);
    same([span.score, span.meta.observer.score, Object.keys(span.meta.observer).sort()],
      [score, score, ["observations", "score"]]);
  }
  const echo = await client.create({ model: "offline/echo" });
  const streamed = await client.stream(streamOfLatest, echo, { input: "x" });
  same((await client.until(scored, streamed.spanId)).score, 100);
  const { spanId } = await client.run(atLatest, echo, { input: "x" });
  await client.call("spans.update", spanId, { score: 7 });
  same((await client.until((span) => span.meta.observer, spanId)).score, 7, "a client's score is never overwritten");
}

export const TOUR = [
  examplesAreKeptReadAndChanged,
  theNearestExamplesAreFoundAndShownToTheModel,
  feedbackIsKeptWithTheSpan,
  answersAreSavedAsExamples,
  aClientMakesSpansOfItsOwn,
  aClientChangesAndDeletesItsSpans,
  spansBelowASpanShareItsTrace,
  aSpanIsMeasured,
  theObserverScoresWhatWasAnswered,
];
