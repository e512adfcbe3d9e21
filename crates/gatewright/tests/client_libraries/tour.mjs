/**
 * A tour of the API with the published TypeScript client, as an ES module and as a CommonJS one.
 *
 * What the client decodes is compared with the bytes that came, and a refusal must throw the client's own error. The
 * server needs its offline provider only; `scripts/client-libraries` starts one that is thrown away afterwards, as the
 * tour leaves behind what it made.
 *
 * Usage: GATEWRIGHT_URL=http://HOST:PORT/v2 GATEWRIGHT_TOKEN=... node tour.mjs
 */

import assert from "node:assert/strict";
import { createRequire } from "node:module";

import {
  CALLS, CASES, INPUT_SCHEMA, NOBODY, OUTPUT_SCHEMA, SERVER, SETTINGS, Client, aliasOperations, atLatest, atRevision,
  datasetOperations, fresh, functionOperations, modelOperations, same, spanOperations, streamOfLatest, textOf,
} from "./client.mjs";
import * as records from "./records.mjs";
import * as streams from "./streams.mjs";

// The client takes settings under names of its own in one place, and as they are in another.
const NAMED_SETTINGS = {
  invocationFewShotCount: 2,
  invocationStructuredGenerationMaxAttempts: 4,
  invocationCacheTtl: 60,
  betaInvocationInputValidationEnabled: true,
  betaInvocationXmlModeEnabled: false,
};

/** The order in which the server sorts names: by code point. */
const sorted = (names) => [...names].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
/** A model in the form in which the server gives it back. */
const stored = (name, options = {}, extraHeaders = {}) => ({ name, options, extraHeaders });

async function aFunctionComesBackAsItWasGiven(client) {
  const whole = await client.create({
    name: fresh("forecast.v1"), description: "\u00e9", instructions: "Sag «guten Tag» 👋\n\u2028",
    inputSchema: INPUT_SCHEMA, outputSchema: OUTPUT_SCHEMA, model: "offline/json", configuration: NAMED_SETTINGS,
  });
  same([client.body().configuration, whole.configuration], [SETTINGS, NAMED_SETTINGS]);
  same(Object.keys(whole.inputSchema), Object.keys(INPUT_SCHEMA), "order of members");
  same(whole.model, stored("offline/json"));
  const least = await client.create();
  assert.ok(!("model" in client.body()), "this client takes no null here");
  same([least.description, least.inputSchema, least.outputSchema, least.model], [null, null, null, undefined]);
  for (const made of [whole, least]) {
    same(await client.call("functions.get", made.id), made);
    same(await client.call("functions.getByName", made.name), made);
  }
  for (const none of [null, undefined]) {
    const nothing = { description: none, inputSchema: none, outputSchema: none, configuration: none };
    same((await client.create({ instructions: "", ...nothing })).instructions, "");
  }
  for (const tail of ["call/stream", "revisions", "by-name/x"]) {
    const made = await client.create({ name: fresh(tail) });
    same(await client.call("functions.getByName", made.name), made);
  }
}

async function everyFormOfAModelIsStored(client) {
  const [name, warm] = ["offline/echo", { temperature: 0.5 }];
  const forms = [
    [name, stored(name)],
    ["my-model", stored("my-model")],
    [stored(name, warm, { "x-a": "b" }), stored(name, warm, { "x-a": "b" })],
    [{ name, options: null, extraHeaders: null }, stored(name)],
    [{ name, options: warm }, stored(name, warm)],
    [{ model: name, options: warm }, stored(name, warm)],
    [[name, "offline/json"], [stored(name), stored("offline/json")]],
    [["a/b", { name: "c/d", options: { a: [1, null] } }, { model: name }],
      [stored("a/b"), stored("c/d", { a: [1, null] }), stored(name)]],
  ];
  const changed = await client.create();
  for (const [model, wanted] of forms) {
    same((await client.create({ model })).model, wanted);
    same((await client.call("functions.update", changed.id, { model })).model, wanted);
  }
}

async function settingsAreKeptAsTheyWereSent(client) {
  const one = await client.create({ configuration: { invocationCacheTtl: 5 } });
  // The client adds its own defaults.
  same(client.sent().configuration["beta.invocation.input_validation.enabled"], false);
  same(one.configuration, {
    invocationFewShotCount: 3, invocationStructuredGenerationMaxAttempts: 5, invocationCacheTtl: 5,
    betaInvocationInputValidationEnabled: false, betaInvocationXmlModeEnabled: false,
  });
  await client.create({ configuration: {} });
  await client.create({ configuration: { betaEvaluation: { scorers: ["base"] } } });
  same(client.body().configuration["beta.evaluation"], { scorers: ["base"] });
  await client.create({ configuration: { betaEvaluation: null } });
}

async function whatCannotBeAFunctionIsRefused(client) {
  const op = "functions.create";
  const { name } = await client.create();
  await client.refused(409, "ConflictError", op, { name, instructions: "i" });
  for (const bad of [...CASES.refused_names, "a".repeat(256)]) {
    await client.faulty([["body", "name"]], op, { name: bad, instructions: "i" });
  }
  for (const [{ input_schema: inputSchema, output_schema: outputSchema, model }, place] of CASES.refused_definitions) {
    await client.faulty([place], op, { name: fresh(), instructions: "i", inputSchema, outputSchema, model });
  }
  await client.faulty([["body", "configuration", "invocation.few_shot.count"]], op,
    { name: fresh(), instructions: "i", configuration: { invocationFewShotCount: 101 } });
  await client.refused(413, "PayloadTooLargeError", op, { name: fresh(), instructions: "x".repeat(3_000_000) });
}

async function functionsAreListed(client) {
  const op = "functions.list";
  const [marker, made] = [fresh(), []];
  for (const tail of ["b", "a.c", "a-c", "a/c", "B", "_", "a"]) {
    made.push(await client.create({ name: `${marker}/${tail}` }));
  }
  made.push(await client.create({ name: `${marker}/z`, description: "Which", model: ["offline/json"] }));
  const byName = sorted(made.map((one) => one.name)).map((name) => made.find((one) => one.name === name));
  const item = ({ id, name, revisionId, description, instructions, model = null }) =>
    ({ id, name, revisionId, description, instructions, model });
  const orders = { created_at: made, "-created_at": [...made].reverse(), name: byName, "-name": [...byName].reverse() };
  for (const [sort, wanted] of Object.entries(orders)) {
    const page = { meta: { totalCount: made.length }, data: wanted.map(item) };
    same(await client.call(op, marker, sort, 0, 100), page);
    for (const offset of [0, 3, 6, 9]) {
      same(await client.call(op, marker, sort, offset, 3), { ...page, data: page.data.slice(offset, offset + 3) });
    }
  }
  const some = await client.call(op);
  same(some, await client.call(op, null, null, null, null));
  assert.ok(some.data.length > 0 && some.data.length <= Math.min(20, some.meta.totalCount), "20 at most");
  same(await client.call(op, "no such name 100% & more"), { meta: { totalCount: 0 }, data: [] });
  for (const [argument, ...args] of [
    ["limit", null, null, 0, 0], ["limit", null, null, 0, 101], ["offset", null, null, -1], ["sort", null, "size"],
  ]) {
    await client.faulty([["query", argument]], op, ...args);
  }
}

async function aChangeOfTheDefinitionMakesARevision(client) {
  const op = "functions.update";
  const first = await client.create({ model: "offline/json", configuration: NAMED_SETTINGS });
  let latest = first.revisionId;
  const change = async (moves, request) => {
    const changed = await client.call(op, first.id, request);
    same(changed.revisionId !== latest, moves, "a new revision");
    latest = changed.revisionId;
    return changed;
  };
  await change(false, {});
  const renamed = await change(false, { name: `${first.name}-2`, description: "New" });
  same([renamed.name, renamed.description], [`${first.name}-2`, "New"]);
  await change(false, { name: first.name });
  same((await change(true, { instructions: "Forecast it well." })).instructions, "Forecast it well.");
  await change(false, { instructions: "Forecast it well." });
  same((await change(true, { model: "offline/echo" })).model, stored("offline/echo"));
  same((await change(true, { inputSchema: OUTPUT_SCHEMA })).inputSchema, OUTPUT_SCHEMA);
  const merged = await change(true, { configuration: { "invocation.cache.ttl": 7 } });
  same(client.body().configuration, { ...SETTINGS, "invocation.cache.ttl": 7 });
  same(merged.configuration, { ...NAMED_SETTINGS, invocationCacheTtl: 7 });
  await change(true, { configuration: { "invocation.cache.ttl": null } });
  same(client.sent(), { configuration: { "invocation.cache.ttl": null } });
  const { "invocation.cache.ttl": gone, ...left } = SETTINGS;
  same(client.body().configuration, left);
  const cleared = await change(true,
    { description: null, inputSchema: null, outputSchema: null, model: null, configuration: null });
  same([cleared.description, cleared.inputSchema, cleared.outputSchema, cleared.model], [null, null, null, undefined]);
  same(client.body().configuration, {});
  const kept = await change(false, { name: null, instructions: null });
  same([kept.name, kept.instructions], [first.name, "Forecast it well."]);
  const everything = {
    name: fresh(), description: "All", instructions: "All.", inputSchema: INPUT_SCHEMA, outputSchema: OUTPUT_SCHEMA,
  };
  const all = await change(true, { ...everything, model: ["offline/json"], configuration: SETTINGS });
  same(all, { ...all, ...everything, model: [stored("offline/json")], configuration: NAMED_SETTINGS });

  await client.faulty([["body", "name"]], op, first.id, { name: "a b" });
  await client.faulty([["body", "configuration", "invocation.cache.ttl"]], op, first.id,
    { configuration: { "invocation.cache.ttl": "1" } });
  await client.refused(409, "ConflictError", op, first.id, { name: (await client.create()).name });
}

async function revisionsAreListedAndRead(client) {
  const first = await client.create({ inputSchema: INPUT_SCHEMA, outputSchema: OUTPUT_SCHEMA, model: "offline/json" });
  const made = [first];
  for (const n of [1, 2, 3]) {
    made.unshift(await client.call("functions.update", first.id,
      { configuration: { "invocation.cache.ttl": n } }));
  }
  let op = "functions.revisions.list";
  const page = await client.call(op, first.id);
  same([page.data.map((item) => item.id), page.meta.totalCount], [made.map((one) => one.revisionId), 4]);
  same(page.data.map((item) => item.configuration), [...[3, 2, 1].map((n) => ({ "invocation.cache.ttl": n })), {}]);
  const times = page.data.map((item) => item.createdAt.getTime());
  same(times, [...times].sort((a, b) => b - a), "order");
  assert.ok(Math.abs(times[0] - Date.now()) < 60_000, page.data[0].createdAt);
  same(await client.call(op, first.id, 1, 2), { ...page, data: page.data.slice(1, 3) });
  same(await client.call(op, first.id, null, null), page);
  await client.faulty([["query", "limit"]], op, first.id, 0, 0);

  op = "functions.getByRevision";
  for (const one of made) same(await client.call(op, first.id, one.revisionId), one);
  for (const revision of [NOBODY, (await client.create()).revisionId]) {
    await client.missing("Function revision", op, first.id, revision);
    for (const operation of ["functions.callRevision", "functions.streamRevision"]) {
      await client.missing("Function revision", operation, first.id, revision, {});
    }
  }
}

async function whatIsNotThereIsMissing(client) {
  const gone = await client.create({ model: "offline/echo" });
  const { spanId } = await client.run(atLatest, gone, { input: "x" });
  await client.call("functions.delete", gone.id);
  for (const operation of [...functionOperations(gone.id, gone.revisionId), ...functionOperations()]) {
    await client.missing("Function", ...operation);
  }
  await client.missing("Function", "functions.getByName", gone.name);
  same((await client.span(spanId)).name, gone.name, "a span outlives its function");
  await client.create({ name: gone.name });
  for (const operation of spanOperations()) await client.missing("Span", ...operation);
  for (const operation of datasetOperations()) await client.missing("Dataset", ...operation);
  for (const operation of modelOperations()) await client.missing("Custom model", ...operation);
  await client.missing("Custom model", "languageModels.getCustomByName", "no/such");
  for (const operation of aliasOperations()) await client.missing("Alias", ...operation);
  await client.missing("Alias", "languageModels.getAliasByName", "no/such");
}

async function anIdThatIsNoneIsRefused(client) {
  for (const operation of functionOperations("x")) await client.faulty([["path", "function_id"]], ...operation);
  for (const operation of modelOperations("x")) await client.faulty([["path", "model_id"]], ...operation);
  for (const operation of aliasOperations("x")) await client.faulty([["path", "alias_id"]], ...operation);
  for (const operation of datasetOperations("x")) await client.faulty([["path", "dataset_id"]], ...operation);
  for (const operation of spanOperations("x")) await client.faulty([["path", "span_id"]], ...operation);
}

async function everyInputReachesTheModelAndTheSpan(client) {
  const echo = await client.create({ model: "offline/echo" });
  for (const way of CALLS) {
    for (const input of CASES.inputs) {
      const result = await client.run(way, echo, { input });
      const said = typeof input === "string" ? result.message : JSON.parse(result.message);
      same([said, result.jsonPayload], [input, null]);
      const span = await client.span(result.spanId);
      same([span.input, span.output], [input, result.message]);
    }
    const nothing = { input: null, parentSpanId: null, examples: null, tags: null };
    for (const request of [{}, { input: null }, nothing]) {
      same((await client.span((await client.run(way, echo, request)).spanId)).input, null);
    }
    const media = await client.run(way, echo, { input: CASES.media_input });
    same((await client.span(media.spanId)).input, CASES.media_input);
  }
}

async function aSpanHoldsTheWholeCall(client) {
  const shaped = await client.create({ model: "offline/json", inputSchema: INPUT_SCHEMA, outputSchema: OUTPUT_SCHEMA });
  const examples = [
    { input: { city: "Bonn" }, output: { city: "Bonn" }, comment: "short" },
    { input: "text", output: "text", comment: null },
    { input: null, output: null },
    { input: { city: "Graz" }, output: { high: 1 } },
  ];
  const [input, { tags }] = [{ city: "Rome" }, CASES];
  for (const way of CALLS) {
    const above = await client.run(way, shaped, { input: { city: "Oslo", days: 3 } });
    const parent = await client.span(above.spanId);
    const result = await client.run(way, shaped, { input, parentSpanId: parent.id, examples, tags });
    same([result.message, result.jsonPayload.city], [null, "Rome"]);
    assert.ok(["clear", "cloudy"].includes(result.jsonPayload.sky), result.jsonPayload.sky);
    assert.ok(Number.isInteger(result.jsonPayload.high), "high");
    const span = await client.span(result.spanId);
    same([span.name, span.type, span.error, span.feedback], [shaped.name, "generation", null, null]);
    assert.ok([null, 100].includes(span.score), "the observer may have been there already");
    same([span.parentId, span.traceId, parent.parentId], [parent.id, parent.traceId, null]);
    same([span.input, span.output], [input, result.jsonPayload]);
    assert.ok(span.startTime <= span.endTime, "it ended before it began");
    const { meta } = span;
    same(meta, {
      ...meta, tags, function_id: shaped.id, function_name: shaped.name, revision_id: shaped.revisionId,
      model: "offline/json", attempts: 1, cached: false, streamed: false, finish_reason: "stop", usage: result.usage,
      cost: result.cost,
    });
    assert.ok(Array.isArray(meta.models_tried) && Number.isInteger(meta.few_shot_count), client.text);
    assert.ok("latency_ms" in meta && "cost_status" in meta, client.text);
  }
}

async function anAnswerTakesTheFormThatWasAskedFor(client) {
  for (const way of CALLS) {
    const answer = async (input, request) => client.run(way, await client.create(request), { input });
    const model = ["nobody/nothing", { name: "offline/fail-status-500" }, "offline/echo"];
    const listed = await answer("still here", { model });
    same([listed.message, (await client.span(listed.spanId)).meta.model], ["still here", "offline/echo"]);
    await answer("the default model");
    for (const weak of ["offline/fail-json-1", "offline/fail-schema-2"]) {
      const mended = await answer({ city: "Rome" }, { model: weak, outputSchema: OUTPUT_SCHEMA });
      same(mended.jsonPayload.city, "Rome");
    }
    same((await answer("x", { model: "offline/fail-empty" })).message, "");
    const none = await answer("x", { outputSchema: { type: "null" } });
    same([none.message, none.jsonPayload], [null, null]);
    const lax = await answer(5, { model: "offline/echo", inputSchema: INPUT_SCHEMA, configuration: {} });
    same(lax.message, "5", "an explicit false switches the input check off");
  }
}

async function anOlderRevisionStaysCallable(client) {
  const old = await client.create({ model: "offline/echo" });
  await client.call("functions.update", old.id, { model: "offline/json", outputSchema: { type: "integer" } });
  const before = await client.run(atRevision, old, { input: "old" });
  const now = await client.run(atLatest, old, { input: "new" });
  same([before.message, before.jsonPayload, now.message], ["old", null, null]);
  assert.ok(Number.isInteger(now.jsonPayload), client.text);
}

async function aCallThatCannotBeginIsRefused(client) {
  const shaped = await client.create({ model: "offline/json", inputSchema: INPUT_SCHEMA });
  for (const target of CALLS.map((way) => way(shaped))) {
    const places = [["body", "input", "city"], ["body", "input", "days"]];
    await client.faulty(places, ...target, { input: { city: "", days: 0 } });
    await client.faulty([["body", "input"]], ...target, { input: 5 });
    const span = await client.span(client.header("x-span-id"));
    same([span.input, span.error.split(":")[0]], [5, "RequestValidationError"]);
    await client.missing("Parent span", ...target, { parentSpanId: NOBODY });
    await client.faulty([["body", "parent_span_id"]], ...target, { parentSpanId: "x" });
    await client.faulty([["body", "examples", 0, "output"]], ...target, { examples: [{ input: "x" }] });
  }
}

async function theFailuresOfModelsAreTyped(client) {
  const late = await client.call("languageModels.registerCustom",
    { name: fresh(), identifier: "offline/fail-delay-3000", extra: { timeout_seconds: 0.2 } });
  const cases = [...CASES.failures, { model: late.name, status: 504, type: "UpstreamTimeoutError" }];
  for (const [index, { model, shaped, status, type, reason }] of cases.entries()) {
    const configuration = { invocationStructuredGenerationMaxAttempts: 2 };
    const made = await client.create({ model, outputSchema: shaped ? OUTPUT_SCHEMA : null, configuration });
    const detail = await client.refused(status, type, ...CALLS[index % 2](made), { input: { city: "Oslo" } });
    same([client.header("x-span-id"), client.came.headers.has("retry-after")], [detail.span_id, status === 429]);
    assert.ok(detail.reason && detail.reason === (reason ?? detail.reason), client.text);
    if (type === "StructuredGenerationError") {
      same([detail.attempts, typeof detail.last_output], [2, "string"]);
      assert.ok(detail.validation_errors.length > 0, client.text);
    }
    if (Array.isArray(model)) {
      same(detail.models.map((one) => one.name), model);
      same(detail.models.map((one) => Object.keys(one).sort()), Array(2).fill(["name", "reason", "status"]));
    }
    const span = await client.span(detail.span_id);
    same([span.name, span.output, span.meta.error_type, span.error.split(": ")[0]], [made.name, null, type, type]);
  }
}

async function customModelsAreRegisteredFoundAndChanged(client) {
  const answered = async (...operation) => {
    const answer = await client.call(...operation);
    assert.ok(!/api_key|sk-secret/.test(client.text), "the key came back");
    return answer;
  };
  const marker = fresh();
  const given = [
    {
      name: `${marker} a+b, é/«x» (1) 50%2F?q=1#f&\\\t`, identifier: "openai/gpt/x", extra: CASES.custom_model_extra,
      apiKey: "sk-secret-1234567890",
    },
    { name: `${marker} least`, identifier: "offline/echo" },
    { name: `${marker} none`, identifier: "offline/echo", extra: undefined, apiKey: null },
    { name: marker + "é".repeat(255 - marker.length), identifier: "a/b" },
  ];
  let op = "languageModels.registerCustom";
  const made = [];
  for (const request of given) {
    const { name, identifier, extra = {} } = request;
    const model = await answered(op, request);
    made.push(model);
    same(model, { id: model.id, name, identifier, extra });
    same(await answered("languageModels.getCustom", model.id), model);
    same([client.body().provider, client.body().type], [identifier.split("/")[0], "llm"]);
    same(await answered("languageModels.getCustomByName", name), model);
  }
  const [whole, least] = made;
  await client.refused(409, "ConflictError", op, { name: least.name, identifier: "a/b" });
  const long = [{ name: "x".repeat(256), identifier: "a/b" }, ["body", "name"]];
  for (const [request, place] of [...CASES.refused_custom_models, long]) await client.faulty([place], op, request);

  op = "languageModels.listCustom";
  const page = await answered(op);
  const names = page.data.map((model) => model.name);
  same(names, sorted(names), "order");
  assert.ok(made.every((model) => names.includes(model.name)), "one is not listed");
  same(await client.call(op, 1, 2), { ...page, data: page.data.slice(1, 3) });
  same(await client.call(op, undefined, undefined), page);
  await client.faulty([["query", "limit"]], op, 0, 101);

  op = "languageModels.updateCustom";
  same(await answered(op, whole.id, {}), whole);
  const changed = { id: whole.id, name: fresh(), identifier: "mistral/y", extra: { max_tokens: 9 } };
  const { id, ...change } = changed;
  same(await answered(op, id, { ...change, apiKey: "sk-secret-other" }), changed);
  same(await answered(op, id, { name: null, identifier: null, apiKey: null }), changed);
  same(client.sent(), { name: null, identifier: null, api_key: null });
  same(typeof (await answered(op, id, { extra: null })).extra, "object");
  await client.faulty([["body", "identifier"]], op, id, { identifier: "x" });
  await client.refused(409, "ConflictError", op, id, { name: least.name });
}

async function aCustomModelIsCalledUntilItIsDeleted(client) {
  const model = await client.call("languageModels.registerCustom", { name: fresh(), identifier: "offline/echo" });
  const made = await client.create({ model: model.name });
  same((await client.run(atLatest, made, { input: "through" })).message, "through");
  await client.call("languageModels.deleteCustom", model.id);
  for (const operation of modelOperations(model.id)) await client.missing("Custom model", ...operation);
  await client.refused(400, "BadRequestError", "functions.call", made.id, { input: "x" });
}

async function aliasesAreMadeFoundAndChanged(client) {
  const marker = fresh();
  const given = [
    {
      name: `${marker} a+b, é/«x» (1) 50%2F?q=1#f&\\\t`, fallbackModels: ["a/b", "later", "a/b"], description: "Which",
    },
    { name: `${marker} least`, fallbackModels: ["offline/echo"] },
    { name: `${marker} none`, fallbackModels: ["offline/echo"], description: null },
    {
      name: marker + "é".repeat(255 - marker.length), fallbackModels: Array(16).fill("a/b"),
      description: "é".repeat(1000),
    },
  ];
  let op = "languageModels.createAlias";
  const made = [];
  for (const request of given) {
    const alias = await client.call(op, request);
    made.push(alias);
    same(alias, { description: null, ...request, id: alias.id });
    same(await client.call("languageModels.getAlias", alias.id), alias);
    same(await client.call("languageModels.getAliasByName", alias.name), alias);
  }
  const [whole, least] = made;
  await client.refused(409, "ConflictError", op, { name: least.name, fallbackModels: ["a/b"] });
  await client.refused(400, "BadRequestError", op, { name: marker, fallbackModels: ["a/b", marker] });
  for (const [{ name, fallback_models: fallbackModels }, place] of CASES.refused_aliases) {
    await client.faulty([place], op, { name, fallbackModels });
  }

  op = "languageModels.listAliases";
  const page = await client.call(op);
  const names = page.data.map((alias) => alias.name);
  same(names, sorted(names), "order");
  assert.ok(made.every((alias) => names.includes(alias.name)), "one is not listed");
  same(await client.call(op, 1, 2), { ...page, data: page.data.slice(1, 3) });
  await client.faulty([["query", "limit"]], op, 0, 101);

  op = "languageModels.updateAlias";
  same(await client.call(op, whole.id, {}), whole);
  const changed = { id: whole.id, name: fresh(), fallbackModels: ["c/d"], description: "Other" };
  const { id, ...change } = changed;
  same(await client.call(op, id, change), changed);
  same(await client.call(op, id, { name: null, fallbackModels: null }), changed);
  same(await client.call(op, id, { description: null }), { ...changed, description: null });
  await client.faulty([["body", "fallback_models"]], op, id, { fallbackModels: [] });
  await client.refused(409, "ConflictError", op, id, { name: least.name });
  await client.refused(400, "BadRequestError", op, id, { fallbackModels: [changed.name] });
}

async function anAliasStandsForItsList(client) {
  const alias = (fallbackModels) => client.call("languageModels.createAlias", { name: fresh(), fallbackModels });
  const inner = await alias(["nobody/nothing", "offline/echo"]);
  const outer = await alias(["no-such-name", inner.name]);
  let made;
  for (const model of [outer.name, { name: outer.name, options: { seed: 1 } }, ["a/b", outer.name]]) {
    made = await client.create({ model });
    const result = await client.run(atLatest, made, { input: "through" });
    same([result.message, (await client.span(result.spanId)).meta.model], ["through", "offline/echo"]);
  }
  same(textOf(await client.stream(streamOfLatest, made, { input: "through" })), "through");
  await client.call("languageModels.deleteAlias", inner.id);
  for (const operation of aliasOperations(inner.id)) await client.missing("Alias", ...operation);
  await client.refused(400, "BadRequestError", "functions.call", made.id, { input: "x" });
}

async function textsBecomeVectors(client) {
  const [op, texts] = ["embeddings.create", ["a small boat", "the sea"]];
  const one = await client.call(op, { input: texts[0] });
  const both = await client.call(op, { input: texts });
  const span = await client.span(client.header("x-span-id"));
  same([one.model, both.model], ["offline/embed", "offline/embed"]);
  same(both.data.map(({ index, embedding }) => [index, embedding.length]), [[0, 1536], [1, 1536]]);
  same([one.data[0], one.usage], [both.data[0], { prompt_tokens: 3, total_tokens: 3 }]);
  same([span.type, span.input, span.meta.count], ["embedding", texts, 2]);
  const short = await client.call(op, { input: texts, model: { name: "offline/embed", options: { dimensions: 3 } } });
  same(short.data.map(({ embedding }) => embedding.length), [3, 3]);
  for (const model of ["offline/embed", ["offline/fail-cut", "offline/embed"], null]) {
    same((await client.call(op, { input: "x", model })).model, "offline/embed");
  }
  await client.faulty([["body", "input"]], op, { input: [] });
  await client.faulty([["body", "input", 1]], op, { input: ["x", ""] });
  const long = { input: ["x", " a".repeat(8192)] };
  const { reason } = await client.refused(400, "ContextWindowExceededError", op, long);
  assert.match(reason, /index 1.* 8192 /);
  await client.refused(502, "UpstreamError", op, { input: "x", model: "offline/fail-cut" });
}

async function textsArePutInOrder(client) {
  const [op, query] = ["rerank.documents", "What is the capital of France?"];
  const texts = ["Berlin is the capital of Germany.", "Bananas are yellow.", "The capital of France is Paris."];
  const documents = texts.map((text, place) => ({ text, metadata: { place } }));
  const given = { query, documents, model: "offline/rerank" };
  const whole = await client.call(op, given);
  same([client.header("x-span-id"), whole.model, whole.cost.total], [whole.id, "offline/rerank", 0]);
  same(whole.results.map(({ index, document }) => [index, document]), [2, 0, 1].map((place) => [place, documents[place]]));
  const best = await client.call(op, { ...given, topK: 1, returnDocuments: false, maxChunksPerDoc: null });
  same(best.results.map(({ index, document }) => [index, document]), [[2, null]]);
  await client.faulty([["body", "documents"]], op, { ...given, documents: [] });
  await client.faulty([["body", "top_k"]], op, { ...given, topK: 0 });
  await client.refused(400, "BadRequestError", op, { ...given, model: "nobody/x" });
  const { data } = await client.call("rerank.listModels");
  same(data.find(({ name }) => name === "offline/rerank").costPerRequest, 0);
}

async function everyOperationWantsAToken(client) {
  const operations = [
    ...functionOperations(), ...modelOperations(), ...aliasOperations(), ...datasetOperations(), ...spanOperations(),
    ["functions.create", { name: "x", instructions: "i" }], ["functions.list"], ["functions.getByName", "a/b"],
    ["call", "x"], ["stream", "x"], ["spans.create", { name: "x" }],
    ["languageModels.registerCustom", { name: "x", identifier: "a/b" }], ["languageModels.listCustom"],
    ["languageModels.getCustomByName", "x"],
    ["languageModels.createAlias", { name: "x", fallbackModels: ["a/b"] }], ["languageModels.listAliases"],
    ["languageModels.getAliasByName", "x"], ["embeddings.create", { input: "x" }], ["rerank.listModels"],
    ["rerank.documents", { query: "x", documents: [], model: "a/b" }],
  ];
  for (const httpBearer of ["wrong-token-0123456789-abcdef", undefined]) {
    const stranger = new Client(client.build, { httpBearer });
    for (const operation of operations) {
      await stranger.refused(401, "UnauthorizedError", ...operation);
      same(stranger.header("www-authenticate"), "Bearer");
    }
  }
}

async function theTransportIsNoSurprise(client) {
  await new Client(client.build, { serverURL: `${SERVER}/` }).call("functions.list");
  const backoff = { initialInterval: 10, maxInterval: 20, exponent: 1.5, maxElapsedTime: 400 };
  const retryConfig = { strategy: "backoff", backoff, retryConnectionErrors: true };
  const patient = new Client(client.build, { retryConfig });
  const failing = await patient.create({ model: "offline/fail-status-500" });
  await patient.refused(502, "UpstreamError", "functions.call", failing.id, {});
  const elsewhere = (path) => ({ serverURL: `${SERVER}/${path}/` });
  await client.refused(405, "MethodNotAllowedError", "functions.create", { name: "x", instructions: "i" },
    elsewhere("functions/by-name"));
  assert.ok(client.header("allow"), "no Allow");
  await client.refused(404, "NotFoundError", "functions.list", null, null, null, null, elsewhere("nothing"));
}

const TOUR = [
  aFunctionComesBackAsItWasGiven,
  everyFormOfAModelIsStored,
  settingsAreKeptAsTheyWereSent,
  whatCannotBeAFunctionIsRefused,
  functionsAreListed,
  aChangeOfTheDefinitionMakesARevision,
  revisionsAreListedAndRead,
  whatIsNotThereIsMissing,
  anIdThatIsNoneIsRefused,
  everyInputReachesTheModelAndTheSpan,
  aSpanHoldsTheWholeCall,
  anAnswerTakesTheFormThatWasAskedFor,
  anOlderRevisionStaysCallable,
  aCallThatCannotBeginIsRefused,
  theFailuresOfModelsAreTyped,
  customModelsAreRegisteredFoundAndChanged,
  aCustomModelIsCalledUntilItIsDeleted,
  aliasesAreMadeFoundAndChanged,
  anAliasStandsForItsList,
  textsBecomeVectors,
  textsArePutInOrder,
  ...streams.TOUR,
  ...records.TOUR,
  everyOperationWantsAToken,
  theTransportIsNoSurprise,
];

const require = createRequire(import.meta.url);
const builds = {
  "ES module": { ...(await import("opperai")), errors: await import("opperai/models/errors") },
  CommonJS: { ...require("opperai"), errors: require("opperai/models/errors") },
};
for (const [kind, build] of Object.entries(builds)) {
  for (const step of TOUR) {
    const client = new Client(build);
    const words = step.name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
    try {
      await step(client);
      console.log(`ok      typescript, ${kind}: ${words}`);
    } catch (error) {
      process.exitCode = 1;
      console.log(`FAILED  typescript, ${kind}: ${words}`);
      console.log(`${error.stack}\nasked ${Client.latest.said}\ncame  ${Client.latest.text.slice(0, 500)}`);
    }
  }
}
