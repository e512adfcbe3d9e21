/** The published TypeScript client with eyes on its transport, and what must hold for each of its answers. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { inspect } from "node:util";

export const { GATEWRIGHT_URL: SERVER = "", GATEWRIGHT_TOKEN: TOKEN } = process.env;
// Without an address the client would turn to its vendor's.
if (!SERVER.endsWith("/v2") || !TOKEN) {
  console.error("GATEWRIGHT_URL, which ends in /v2, and GATEWRIGHT_TOKEN are needed");
  process.exit(1);
}
// The client would take a token from here when it is given none.
delete process.env.OPPER_HTTP_BEARER;

export const CASES = JSON.parse(readFileSync(new URL("cases.json", import.meta.url), "utf8"));
export const { input_schema: INPUT_SCHEMA, output_schema: OUTPUT_SCHEMA, settings: SETTINGS } = CASES;
export const NOBODY = "00000000-0000-7000-8000-000000000000";
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const TYPED = {
  400: "BadRequestError",
  401: "UnauthorizedError",
  404: "NotFoundError",
  409: "ConflictError",
  422: "RequestValidationError",
};
// Where the client does not expect a 409, it throws its fallback.
const UNTYPED = [
  "functions.update 409", "languageModels.updateCustom 409", "languageModels.updateAlias 409", "spans.create 409",
];
// What answers 201.
const CREATING = ["functions.create", "spans.saveExamples"];
// Where it throws an error of no class of its own.
const CLASSLESS = ["embeddings.create 422", "embeddings.create 502"];
// What the server sends and this client does not read, everywhere or in some places.
const UNREAD = [
  "is_v3", "provider", "type", "feedback", "beta.evaluation", "invocation.stream.failover",
  "invocation.hedge.after_ms", "usage", "cost", "cached", "json_payload", "finish_reason", "failover", "chunk_type",
  "error_type", "error_message",
];

/** The client, called by the names of its operations. */
export class Client {
  constructor(build, options = {}) {
    // Keeps the last answer, and lets no request out to anyone but the server.
    const fetcher = async (input, init) => {
      const request = new Request(input, { ...init, redirect: "error" });
      assert.ok(request.url.startsWith(SERVER), `a request for ${request.url}`);
      this.request = await request.clone().text();
      this.came = await fetch(request);
      if (this.header("content-type") === "text/event-stream") return this.recorded();
      this.text = await this.came.clone().text();
      return this.came;
    };
    this.build = build;
    const httpClient = new build.HTTPClient({ fetcher });
    this.opper = new build.Opper({ serverURL: SERVER, httpBearer: TOKEN, httpClient, ...options });
  }

  /** The last answer, with what is read of its body kept. */
  recorded() {
    this.text = "";
    const decoder = new TextDecoder();
    const transform = (bytes, controller) => {
      this.text += decoder.decode(bytes, { stream: true });
      controller.enqueue(bytes);
    };
    return new Response(this.came.body.pipeThrough(new TransformStream({ transform })), this.came);
  }

  /**
   * Runs an operation such as `functions.create`, and compares what was decoded with what came.
   *
   * A stream is only opened. The operations that take a definition take its name as their first argument here.
   */
  async call(operation, ...args) {
    if (BY_NAME.includes(operation)) args.splice(0, 2, { name: args[0], ...args[1] });
    Client.latest = this;
    this.said = `${operation} ${inspect(args, { breakLength: Infinity, maxStringLength: 60 })}`;
    this.text = "nothing";
    const path = operation.split(".");
    const method = path.pop();
    const decoded = await path.reduce((owner, part) => owner[part], this.opper)[method](...args);
    if (method.startsWith("delete")) {
      same([decoded, this.came.status, this.text], [undefined, 204, ""]);
    } else if (method.startsWith("stream")) {
      same([this.came.status, this.header("content-type")], [200, "text/event-stream"]);
    } else {
      const success = CREATING.includes(operation) ? 201 : 200;
      same([this.came.status, this.header("content-type")], [success, "application/json"]);
      faithful(decoded, this.body());
    }
    return decoded;
  }

  body() {
    return JSON.parse(this.text);
  }

  sent() {
    return JSON.parse(this.request);
  }

  header(name) {
    return this.came.headers.get(name);
  }

  /** Checks that an operation throws the client's error for this refusal; returns its detail. */
  async refused(status, type, operation, ...args) {
    const refusal = `${operation} ${status}`;
    const typed = CLASSLESS.includes(refusal) ? "ErrorT" : (TYPED[status] ?? "APIError");
    const wanted = UNTYPED.includes(refusal) ? "APIError" : typed;
    const error = await this.call(operation, ...args).catch((thrown) => thrown);
    assert.ok(error instanceof this.build.errors.OpperError, `no OpperError: ${error}`);
    assert.ok(error instanceof this.build.errors[wanted], `no ${wanted}: ${error}`);
    same([error.name, error.statusCode, error.contentType], [wanted, status, "application/json"]);
    const body = JSON.parse(error.body);
    same([Object.keys(body).sort(), body.type], [["detail", "message", "type"], type]);
    if (wanted !== "APIError") {
      same(error.data$, { ...error.data$, ...body });
      same([error.type, error.detail, error.message], [type, body.detail, body.message]);
    }
    return body.detail;
  }

  /** Checks that an operation is refused because this is not there. */
  async missing(what, operation, ...args) {
    same(await this.refused(404, "NotFoundError", operation, ...args), `${what} not found`);
  }

  /** Checks that an operation is refused as malformed, for faults in these places. */
  async faulty(places, operation, ...args) {
    const detail = await this.refused(422, "RequestValidationError", operation, ...args);
    for (const { loc, msg, type, ...more } of detail) {
      same([Array.isArray(loc), typeof msg, typeof type, more], [true, "string", "string", {}]);
    }
    same(detail.map((fault) => fault.loc), places);
  }

  /** Stores a function, which must come back as it was sent. */
  async create(given = {}) {
    const least = { name: fresh(), instructions: "Forecast the weather." };
    const made = await this.call("functions.create", { ...least, ...given });
    const came = this.body();
    for (const [member, value] of Object.entries(this.sent())) {
      if (member === "model" || value === null) continue;
      const held = Object.entries(value).filter(([, setting]) => setting !== null);
      same(came[member], member === "configuration" ? Object.fromEntries(held) : value, member);
    }
    for (const id of [made.id, made.datasetId, made.revisionId]) assert.match(id, UUID);
    same(made.observerEnabled, true);
    return made;
  }

  /** Runs a call, and checks what every result has. */
  async run(way, target, request, cached = false) {
    const result = await this.call(...way(target), request);
    assert.match(result.spanId, UUID);
    same([this.header("x-span-id"), result.cached, result.images], [result.spanId, cached, null]);
    billed(result.usage, result.cost);
    return result;
  }

  /**
   * Reads the stream of a call to its end, and checks what every stream has.
   *
   * Returns the payloads of its chunks and of its last event, and the event's name.
   */
  async stream(way, target, request, cached = false) {
    const { result } = await this.call(...way(target), request);
    const read = [];
    for await (const event of result) read.push(event);
    same(["cache-control", "x-accel-buffering", "content-length", "content-encoding"].map((name) => this.header(name)),
      ["no-store", "no", null, null]);
    const came = this.sentEvents();
    faithful(read, came);
    same(came.map(({ id }) => id), came.map((_, number) => String(number)));
    const chunks = came.map(({ data }) => data);
    same(new Set(chunks.map((payload) => payload.span_id)), new Set([this.header("x-span-id")]));
    const last = chunks.pop();
    const { event: name } = came.at(-1);
    assert.ok(came.slice(0, -1).every((event) => !("event" in event)), "only the last event has a name");
    same([last.delta, ["done", "error"].includes(name)], ["", true]);
    if (name === "done") {
      assert.ok(chunks.every((chunk) => chunk.chunk_type === last.chunk_type), this.text);
      same(last.cached, cached);
      billed(last.usage, last.cost);
    } else {
      same(last.chunk_type, "error");
      assert.ok(last.error_type && last.error_message, this.text);
    }
    return { chunks, last, name, spanId: last.span_id };
  }

  /** The events of the last stream as they came: every one with an empty line behind it, and one line of data. */
  sentEvents() {
    const blocks = this.text.split("\n\n");
    same(blocks.pop(), "", "after the last event");
    return blocks.filter((block) => !block.startsWith(":")).map((block) => {
      const lines = block.split("\n").map((line) => /^(id|event|data): (.*)$/.exec(line).slice(1));
      const event = Object.fromEntries(lines);
      same([lines.length, typeof event.data], [Object.keys(event).length, "string"]);
      return { ...event, data: JSON.parse(event.data) };
    });
  }

  /** Reads a span until it is as wanted, which takes the server a moment. */
  async until(wanted, spanId) {
    for (let tries = 0; tries < 100; tries += 1) {
      const span = await this.span(spanId);
      if (wanted(span)) return span;
      await setTimeout(50);
    }
    throw new Error(`the span stayed ${this.text.slice(0, 500)}`);
  }

  span(id) {
    return this.call("spans.get", id);
  }
}

/** A call of the function as it is now. */
export const atLatest = (made) => ["functions.call", made.id];
/** A call of the function as it was then. */
export const atRevision = (made) => ["functions.callRevision", made.id, made.revisionId];

/** A call that brings the definition along. */
export const byName = (name) => ["call", name];
export const streamOfLatest = (made) => ["functions.stream", made.id];
export const streamOfRevision = (made) => ["functions.streamRevision", made.id, made.revisionId];
export const streamByName = (name) => ["stream", name];
const BY_NAME = ["call", "stream"];
export const CALLS = [atLatest, atRevision];
export const STREAMS = [streamOfLatest, streamOfRevision];

/** Every operation on one function. */
export const functionOperations = (id = NOBODY, revision = NOBODY) => [
  ["functions.get", id],
  ["functions.update", id, { description: "d" }],
  ["functions.delete", id],
  ["functions.revisions.list", id],
  ["functions.getByRevision", id, revision],
  ["functions.call", id, { input: "x" }],
  ["functions.callRevision", id, revision, { input: "x" }],
  ["functions.stream", id, { input: "x" }],
  ["functions.streamRevision", id, revision, { input: "x" }],
];

/** Every operation on one custom model. */
export const modelOperations = (id = NOBODY) => [
  ["languageModels.getCustom", id],
  ["languageModels.updateCustom", id, { name: "x" }],
  ["languageModels.deleteCustom", id],
];

/** Every operation on one alias. */
export const aliasOperations = (id = NOBODY) => [
  ["languageModels.getAlias", id],
  ["languageModels.updateAlias", id, { name: "x" }],
  ["languageModels.deleteAlias", id],
];

/** Every operation on one dataset. */
export const datasetOperations = (id = NOBODY, entry = NOBODY) => [
  ["datasets.createEntry", id, { input: "x", output: "y" }],
  ["datasets.listEntries", id],
  ["datasets.queryEntries", id, "x"],
  ...entryOperations(id, entry),
];

/** Every operation on one entry of a dataset. */
export const entryOperations = (dataset = NOBODY, id = NOBODY) => [
  ["datasets.getEntry", dataset, id],
  ["datasets.entries.update", dataset, id, { comment: "c" }],
  ["datasets.deleteEntry", dataset, id],
];

/** Every operation on one span. */
export const spanOperations = (id = NOBODY, metric = NOBODY) => [
  ["spans.get", id],
  ["spans.update", id, { name: "x" }],
  ["spans.delete", id],
  ["spans.submitFeedback", id, { score: 1 }],
  ["spans.saveExamples", id],
  ["spanMetrics.createMetric", id, { dimension: "x", value: 1 }],
  ["spanMetrics.list", id],
  ...metricOperations(id, metric),
];

/** Every operation on one metric of a span. */
export const metricOperations = (span = NOBODY, id = NOBODY) => [
  ["spanMetrics.get", span, id],
  ["spanMetrics.updateMetric", span, id, { comment: "c" }],
  ["spanMetrics.delete", span, id],
];

let pieces = 0;
/** A model whose stream breaks after some pieces; a new one each time, as one that failed too often is left alone. */
export const broken = (how) => `offline/fail-stream-${how}-${(pieces += 1)}`;

/** A name that nobody has. */
export const fresh = (tail = "x") => `tour-${randomUUID()}/${tail}`;

export function same(got, wanted, what = "value") {
  const [left, right] = [got, wanted].map((value) => inspect(value, { depth: 6, breakLength: Infinity }).slice(0, 500));
  assert.deepStrictEqual(got, wanted, `${what}: got ${left}, wanted ${right}`);
}

/** Checks that usage and cost add up. */
function billed(usage, cost) {
  const counts = [usage.input_tokens, usage.output_tokens, usage.output_tokens_details.reasoning_tokens];
  assert.ok(counts.every(Number.isInteger), `tokens: ${counts}`);
  same(usage.total_tokens, counts[0] + counts[1], "total_tokens");
  same(Object.keys(cost).sort(), ["generation", "platform", "total"]);
  assert.ok(Math.abs(cost.total - cost.generation - cost.platform) < 1e-12, inspect(cost));
}

/** What the pieces of a stream make together. */
export const textOf = (stream) => stream.chunks.map((chunk) => chunk.delta).join("");

/** The value whose leaves came under their paths, whole or, where they are strings, in pieces. */
export function valueOf(stream) {
  const top = {};
  for (const { json_path: path, delta } of stream.chunks) {
    // A name, or an index.
    const steps = [...path.matchAll(/([^.[\]]+)|\[(\d+)\]/g)].map(([, name, index]) => name ?? Number(index));
    if (path === "_root") steps.pop();
    let [node, key] = [top, "value"];
    for (const step of steps) {
      node[key] ??= typeof step === "number" ? [] : {};
      [node, key] = [node[key], step];
    }
    if (Object.hasOwn(node, key)) same([typeof node[key], typeof delta], ["string", "string"], path);
    node[key] = Object.hasOwn(node, key) ? node[key] + delta : delta;
  }
  return top.value;
}

const camel = (name) => name.replace(/[._]([a-z])/g, (_, letter) => letter.toUpperCase());

/** Checks that the client read every member that came, and read it right. */
function faithful(decoded, came, path = "answer") {
  if (decoded instanceof Date) {
    assert.match(came, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$/);
    same(decoded.getTime(), Date.parse(came), path);
  } else if (Array.isArray(came)) {
    same(decoded.length, came.length, path);
    came.forEach((item, index) => faithful(decoded[index], item, `${path}[${index}]`));
  } else if (came !== null && typeof came === "object") {
    for (const [key, value] of Object.entries(came)) {
      // What is the caller's own, such as a schema, keeps its names.
      const name = [key, camel(key)].find((known) => Object.hasOwn(decoded, known));
      if (name !== undefined) faithful(decoded[name], value, `${path}.${key}`);
      else assert.ok(UNREAD.includes(key), `${path}.${key}: unread`);
    }
  } else {
    same(decoded, came, path);
  }
}
