/** Streams, calls that bring their definition along, and the settings that change how a call is answered. */

import assert from "node:assert/strict";
import { setTimeout } from "node:timers/promises";

import {
  CALLS, CASES, INPUT_SCHEMA, NOBODY, OUTPUT_SCHEMA, STREAMS, atLatest, broken, byName, fresh, same, streamByName,
  streamOfLatest, streamOfRevision, textOf, valueOf,
} from "./client.mjs";

const TEXT = "a text of more than one piece";

async function aStreamGivesTheTextOfAPlainCall(client) {
  const [echo, named] = [await client.create({ model: "offline/echo" }), fresh()];
  await client.run(byName, named, { model: "offline/echo" });
  for (const input of [...CASES.inputs, "one piece after the other ".repeat(40)]) {
    const { message } = await client.run(atLatest, echo, { input });
    for (const [way, target] of [...STREAMS.map((way) => [way, echo]), [streamByName, named]]) {
      const stream = await client.stream(way, target, { input });
      same([stream.name, textOf(stream)], ["done", message]);
      same([stream.last.chunk_type, stream.last.finish_reason], ["text", "stop"]);
      assert.ok(message.length < 100 || stream.chunks.length > 10, client.text);
      const span = await client.span(stream.spanId);
      same([span.name, span.input, span.output], [target.name ?? named, input, message]);
      same([span.meta.streamed, span.meta.usage], [true, stream.last.usage]);
    }
  }
  const half = await client.create({ model: "offline/fail-length" });
  const cut = await client.stream(streamOfLatest, half, { input: "0123456789" });
  same([textOf(cut), cut.last.finish_reason], ["01234", "length"]);
}

async function aStreamTakesWhatACallTakes(client) {
  const shaped = await client.create({ model: "offline/json", inputSchema: INPUT_SCHEMA, outputSchema: OUTPUT_SCHEMA });
  const parent = await client.call("spans.create", { name: "above" });
  const examples = [{ input: "a", output: "b", comment: null }];
  for (const [way, target] of [...STREAMS.map((way) => [way, shaped]), [streamByName, shaped.name]]) {
    const request = { input: { city: "Rome" }, parentSpanId: parent.id, tags: CASES.tags, examples };
    const stream = await client.stream(way, target, request);
    same(stream.last.json_payload.city, "Rome");
    const span = await client.span(stream.spanId);
    same([span.parentId, span.traceId], [parent.id, parent.traceId]);
    same([span.meta.tags, span.meta.revision_id], [CASES.tags, shaped.revisionId]);
  }
}

async function aStructuredStreamOfAFunctionIsJsonText(client) {
  for (const [outputSchema, input] of CASES.streamed) {
    const made = await client.create({ model: "offline/echo", outputSchema });
    for (const way of STREAMS) {
      const stream = await client.stream(way, made, { input });
      same([stream.name, stream.last.chunk_type], ["done", "json"]);
      same([JSON.parse(textOf(stream)), stream.last.json_payload], [input, input]);
      same((await client.span(stream.spanId)).output, input);
    }
  }
}

async function aStructuredStreamByNameTellsWhereEachPieceBelongs(client) {
  for (const [outputSchema, input] of CASES.streamed) {
    const name = fresh();
    const stream = await client.stream(streamByName, name, { model: "offline/echo", outputSchema, input });
    same([stream.name, stream.last.chunk_type], ["done", "json"]);
    same([valueOf(stream), stream.last.json_payload], [input, input]);
    same((await client.run(byName, name, { input })).jsonPayload, input);
  }
  const forecast = await client.stream(streamByName, fresh(),
    { model: "offline/json", outputSchema: OUTPUT_SCHEMA, input: { city: "Reykjavik, the capital of Iceland" } });
  same(valueOf(forecast), forecast.last.json_payload);
  assert.ok(forecast.chunks.filter((chunk) => chunk.json_path === "city").length > 2, client.text);
  const leaves = ({ chunks }) => chunks.map((chunk) => [chunk.json_path, chunk.delta]);
  const input = { list: [], object: {}, n: 1 };
  const hollow = await client.stream(streamByName, fresh(), { model: "offline/echo", outputSchema: {}, input });
  same([leaves(hollow), hollow.last.json_payload], [[["n", 1]], input]);
  const outputSchema = { type: "null" };
  same(leaves(await client.stream(streamByName, fresh(), { model: "offline/json", outputSchema })), [["_root", null]]);
}

async function aStreamThatCannotBeginIsRefused(client) {
  const ways = [...STREAMS, (made) => streamByName(made.name)];
  for (const [index, { model, shaped, status, type }] of CASES.failures.entries()) {
    // A stream of this one has begun when it turns out to be wrong.
    if (model === "offline/fail-json") continue;
    const made = await client.create({ model, outputSchema: shaped ? OUTPUT_SCHEMA : null });
    const detail = await client.refused(status, type, ...ways[index % 3](made), { input: { city: "Oslo" } });
    same(client.header("x-span-id"), detail.span_id);
    same((await client.span(detail.span_id)).meta.error_type, type);
  }
  const shaped = await client.create({ model: "offline/json", inputSchema: INPUT_SCHEMA });
  for (const target of ways.map((way) => way(shaped))) {
    await client.faulty([["body", "input"]], ...target, { input: 5 });
    same((await client.span(client.header("x-span-id"))).input, 5);
    await client.missing("Parent span", ...target, { parentSpanId: NOBODY });
  }
}

async function aStreamThatBreaksEndsWithAnError(client) {
  for (const { breaks, model = broken(breaks), schema: outputSchema, type } of CASES.broken_streams) {
    const { name } = await client.call("languageModels.registerCustom",
      { name: fresh(), identifier: model, extra: { timeout_seconds: 0.2 } });
    const made = await client.create({ model: name, outputSchema });
    for (const [way, target] of [...STREAMS.map((way) => [way, made]), [streamByName, made.name]]) {
      const stream = await client.stream(way, target, { input: { city: "Oslo" } });
      same([stream.name, stream.last.error_type], ["error", type]);
      assert.ok(stream.chunks.length > 0, "it had not begun");
      const span = await client.span(stream.spanId);
      same([span.error.split(": ")[0], span.meta.error_type], [type, type]);
    }
  }
}

async function anotherModelTakesOverWhereThatIsWanted(client) {
  // What repeats itself cannot be gone on with: nobody could tell a repetition from the text.
  const [echo, text] = ["offline/echo", Array.from({ length: 400 }, (_, number) => `word${number}`).join(" ")];
  const unbegun = await client.create({ model: ["offline/fail-status-503", "offline/fail-stream-cut-0", echo] });
  const begun = await client.create({ model: [broken("cut"), echo] });
  for (const way of STREAMS) {
    const stream = await client.stream(way, unbegun, { input: text });
    same([textOf(stream), "failover" in stream.last], [text, false]);
    same((await client.span(stream.spanId)).meta.model, "offline/echo");
    same((await client.stream(way, begun, { input: text })).name, "error");
  }
  await client.call("functions.update", begun.id, { configuration: { "invocation.stream.failover": "continue" } });
  const stream = await client.stream(streamOfLatest, begun, { input: text });
  same([stream.name, stream.last.failover], ["done", true]);
  same([textOf(stream), (await client.span(stream.spanId)).output], [text, text]);
  same((await client.stream(streamOfRevision, begun, { input: text })).name, "error");
}

async function aReaderWhoLeavesEndsTheCall(client) {
  const late = await client.call("languageModels.registerCustom",
    { name: fresh(), identifier: "offline/fail-stream-stall-1", extra: { timeout_seconds: 60 } });
  const { result } = await client.call(...streamByName(fresh()), { model: late.name, input: TEXT });
  let first;
  for await (first of result) break;
  same([first.event, first.data.delta], [undefined, TEXT.slice(0, 8)]);
  same((await client.until((span) => span.error, first.data.spanId)).error, "client disconnected");
}

async function aCallByNameMakesAndChangesItsFunction(client) {
  const [name, op] = [fresh("by/name"), "functions.getByName"];
  const given = { instructions: "Forecast it.", inputSchema: INPUT_SCHEMA, outputSchema: OUTPUT_SCHEMA };
  const parent = await client.call("spans.create", { name: "above" });
  const input = { city: "Rome" };
  const result = await client.run(byName, name, {
    ...given, model: "offline/json", input, tags: CASES.tags, examples: [{ input: "a", output: "b" }],
    parentSpanId: parent.id,
  });
  same([result.message, result.jsonPayload.city], [null, "Rome"]);
  const first = await client.call(op, name);
  same(first, { ...first, ...given });
  same(first.model.name, "offline/json");
  const span = await client.span(result.spanId);
  same([span.name, span.parentId, span.meta.tags], [name, parent.id, CASES.tags]);
  same([span.meta.function_id, span.meta.revision_id], [first.id, first.revisionId]);

  const used = async (request) => {
    const { spanId } = await client.run(byName, name, { input, ...request });
    return (await client.span(spanId)).meta.revision_id;
  };
  for (const request of [{}, given, { model: "offline/json" }]) same(await used(request), first.revisionId);
  const changed = await used({ instructions: "Forecast it well." });
  assert.notEqual(changed, first.revisionId);
  same(changed, (await client.call(op, name)).revisionId);
  same(await used(), changed, "what is not given comes from the latest");
  same(await used({ instructions: "Forecast it." }), first.revisionId, "a definition that was there before");
  same((await client.call("functions.revisions.list", first.id)).meta.totalCount, 2);
  for (const model of [["nobody/nothing", { name: "offline/echo" }], { name: "offline/echo", options: { a: 1 } }]) {
    const answer = await client.run(byName, fresh(), { model, input: "x" });
    same([answer.message, (await client.span(answer.spanId)).meta.model], ["x", "offline/echo"]);
  }

  const least = fresh();
  await client.run(byName, least);
  same((await client.call(op, least)).instructions, "You are a helpful assistant");
  await client.run(byName, fresh(), {
    instructions: null, inputSchema: null, outputSchema: null, input: null, examples: null, parentSpanId: null,
    tags: null, configuration: null,
  });
}

async function settingsThatACallByNameBringsAreMerged(client) {
  const name = fresh();
  await client.run(byName, name, { model: "offline/echo", inputSchema: INPUT_SCHEMA, input: { city: "Rome" } });
  await client.refused(422, "RequestValidationError", "call", name, { input: 5 });
  const result = await client.run(byName, name, { input: 5, configuration: { invocationCacheTtl: 60 } });
  // The client adds its own defaults, and one of them switches the check of the input off.
  const { configuration } = client.sent();
  same(configuration, {
    "invocation.few_shot.count": 3, "invocation.structured_generation.max_attempts": 5, "invocation.cache.ttl": 60,
    "beta.invocation.input_validation.enabled": false, "beta.invocation.xml_mode.enabled": false,
  });
  same(result.message, "5");
  await client.call("functions.getByName", name);
  same(client.body().configuration, configuration);
  await client.run(byName, name, { input: 5 }, true);
}

async function aCallByNameThatCannotBeginIsRefused(client) {
  for (const operation of ["call", "stream"]) {
    for (const [{ output_schema: outputSchema, parent_span_id: parentSpanId, model, name = fresh() }, place] of
      CASES.refused_calls) {
      await client.faulty([place], operation, name, { input: "x", outputSchema, parentSpanId, model });
    }
    await client.faulty([["body", "configuration", "invocation.cache.ttl"]], operation, fresh(),
      { configuration: { invocationCacheTtl: -1 } });
    await client.missing("Parent span", operation, fresh(), { parentSpanId: NOBODY });
    await client.refused(400, "BadRequestError", operation, fresh(), { model: "nobody/nothing", input: "x" });
  }
}

async function anAnswerIsKeptAsLongAsTheFunctionAsks(client) {
  const kept = { configuration: { invocationCacheTtl: 60 } };
  const plain = await client.create({ model: "offline/echo", ...kept });
  const shaped = await client.create({ model: "offline/json", outputSchema: OUTPUT_SCHEMA, ...kept });
  const first = await client.run(atLatest, plain, { input: TEXT });
  for (const way of CALLS) {
    const again = await client.run(way, plain, { input: TEXT, tags: CASES.tags }, true);
    same([again.message, again.usage.total_tokens, again.cost.total], [TEXT, 0, 0]);
    const span = await client.span(again.spanId);
    same([span.id === first.spanId, span.meta.cached, span.output], [false, true, TEXT]);
  }
  for (const [way, target] of [...STREAMS.map((way) => [way, plain]), [streamByName, plain.name]]) {
    const stream = await client.stream(way, target, { input: TEXT }, true);
    same([stream.chunks.map((chunk) => chunk.delta), stream.last.usage.total_tokens], [[TEXT], 0]);
  }

  const input = { city: "Reykjavik, the capital" };
  const made = await client.stream(streamByName, shaped.name, { input });
  const again = await client.stream(streamByName, shaped.name, { input }, true);
  same(valueOf(again), valueOf(made));
  same(again.chunks.length, new Set(again.chunks.map((chunk) => chunk.json_path)).size, "one chunk for each leaf");
  same((await client.run(atLatest, shaped, { input }, true)).jsonPayload, valueOf(made));

  await client.run(atLatest, plain, { input: "another text" });
  await client.call("functions.update", plain.id, { instructions: "Another." });
  await client.run(atLatest, plain, { input: TEXT });
  const brief = await client.create({ model: "offline/echo", configuration: { invocationCacheTtl: 1 } });
  await client.run(atLatest, brief, { input: "x" });
  await setTimeout(1100);
  await client.run(atLatest, brief, { input: "x" });
}

async function settingsChangeHowAModelIsAsked(client) {
  const { xml_answer: instructions, xml_value: value } = CASES;
  // Without an input the instructions are said to the model, and it answers with them.
  const marked = await client.create({
    model: "offline/echo", instructions, outputSchema: OUTPUT_SCHEMA,
    configuration: { betaInvocationXmlModeEnabled: true },
  });
  for (const way of CALLS) same((await client.run(way, marked, {})).jsonPayload, value);
  for (const way of STREAMS) {
    const stream = await client.stream(way, marked, {});
    same([stream.chunks.length, JSON.parse(textOf(stream))], [1, value]);
  }
  const stream = await client.stream(streamByName, marked.name);
  same([valueOf(stream), stream.chunks.length], [value, 5]);

  const slow = await client.create({ model: ["offline/fail-delay-5000", "offline/echo"] });
  await client.call("functions.update", slow.id, { configuration: { "invocation.hedge.after_ms": 50 } });
  const begun = performance.now();
  const { message, spanId } = await client.run(atLatest, slow, { input: "x" });
  assert.ok(performance.now() - begun < 4000, "nobody else was asked");
  same([message, (await client.span(spanId)).meta.model], ["x", "offline/echo"]);
}

export const TOUR = [
  aStreamGivesTheTextOfAPlainCall,
  aStreamTakesWhatACallTakes,
  aStructuredStreamOfAFunctionIsJsonText,
  aStructuredStreamByNameTellsWhereEachPieceBelongs,
  aStreamThatCannotBeginIsRefused,
  aStreamThatBreaksEndsWithAnError,
  anotherModelTakesOverWhereThatIsWanted,
  aReaderWhoLeavesEndsTheCall,
  aCallByNameMakesAndChangesItsFunction,
  settingsThatACallByNameBringsAreMerged,
  aCallByNameThatCannotBeginIsRefused,
  anAnswerIsKeptAsLongAsTheFunctionAsks,
  settingsChangeHowAModelIsAsked,
];
