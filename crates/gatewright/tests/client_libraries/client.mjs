/** The published TypeScript client with eyes on its transport, and what must hold for each of its answers. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { inspect } from "node:util";

export const { GATEWRIGHT_URL: SERVER = "", GATEWRIGHT_TOKEN: TOKEN } = process.env;
// Without an address the client would turn to its vendor's.
if (!SERVER.endsWith("/v2") || !TOKEN) {
  console.error("GATEWRIGHT_URL, which ends in /v2, and GATEWRIGHT_TOKEN are needed");
  process.exit(1);
}
// The client would take a token from here when it is given none.
delete process.env.OPPER_HTTP_BEARER;

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
const UNTYPED = ["functions.update 409", "languageModels.updateCustom 409"];
// What the server sends and this client does not read.
const UNREAD = ["is_v3", "provider", "type", "beta.evaluation"];

/** The client, called by the names of its operations. */
export class Client {
  constructor(build, options = {}) {
    // Keeps the last answer, and lets no request out to anyone but the server.
    const fetcher = async (input, init) => {
      const request = new Request(input, { ...init, redirect: "error" });
      assert.ok(request.url.startsWith(SERVER), `a request for ${request.url}`);
      this.request = await request.clone().text();
      this.came = await fetch(request);
      this.text = await this.came.clone().text();
      return this.came;
    };
    this.build = build;
    const httpClient = new build.HTTPClient({ fetcher });
    this.opper = new build.Opper({ serverURL: SERVER, httpBearer: TOKEN, httpClient, ...options });
  }

  /** Runs an operation such as `functions.create`, and compares what was decoded with what came. */
  async call(operation, ...args) {
    Client.latest = this;
    this.said = `${operation} ${inspect(args, { breakLength: Infinity, maxStringLength: 60 })}`;
    this.text = "nothing";
    const path = operation.split(".");
    const method = path.pop();
    const decoded = await path.reduce((owner, part) => owner[part], this.opper)[method](...args);
    if (method.startsWith("delete")) {
      same([decoded, this.came.status, this.text], [undefined, 204, ""]);
    } else {
      const success = operation === "functions.create" ? 201 : 200;
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
    const wanted = UNTYPED.includes(`${operation} ${status}`) ? "APIError" : (TYPED[status] ?? "APIError");
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

  /** Calls a function, and checks what every result has. */
  async run(way, made, request) {
    const [operation, ...target] = way(made);
    const result = await this.call(operation, ...target, request);
    assert.match(result.spanId, UUID);
    same([this.header("x-span-id"), result.cached, result.images], [result.spanId, false, null]);
    const { usage, cost } = result;
    const counts = [usage.input_tokens, usage.output_tokens, usage.output_tokens_details.reasoning_tokens];
    assert.ok(counts.every(Number.isInteger), `tokens: ${counts}`);
    same(usage.total_tokens, counts[0] + counts[1], "total_tokens");
    same(Object.keys(cost).sort(), ["generation", "platform", "total"]);
    assert.ok(Math.abs(cost.total - cost.generation - cost.platform) < 1e-12, this.text);
    return result;
  }

  span(id) {
    return this.call("spans.get", id);
  }
}

/** A call of the function as it is now. */
export const atLatest = (made) => ["functions.call", made.id];
/** A call of the function as it was then. */
export const atRevision = (made) => ["functions.callRevision", made.id, made.revisionId];

/** Every operation on one function. */
export const functionOperations = (id = NOBODY, revision = NOBODY) => [
  ["functions.get", id],
  ["functions.update", id, { description: "d" }],
  ["functions.delete", id],
  ["functions.revisions.list", id],
  ["functions.getByRevision", id, revision],
  ["functions.call", id, { input: "x" }],
  ["functions.callRevision", id, revision, { input: "x" }],
];

/** Every operation on one custom model. */
export const modelOperations = (id = NOBODY) => [
  ["languageModels.getCustom", id],
  ["languageModels.updateCustom", id, { name: "x" }],
  ["languageModels.deleteCustom", id],
];

/** A name that nobody has. */
export const fresh = (tail = "x") => `tour-${randomUUID()}/${tail}`;

export function same(got, wanted, what = "value") {
  const [left, right] = [got, wanted].map((value) => inspect(value, { depth: 6, breakLength: Infinity }).slice(0, 500));
  assert.deepStrictEqual(got, wanted, `${what}: got ${left}, wanted ${right}`);
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
