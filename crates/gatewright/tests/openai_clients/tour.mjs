/**
 * A tour of the OpenAI-compatible door with the official TypeScript client, unmodified: only its base URL and its key
 * are ours.
 *
 * The models are those of testkit's `scripted-upstream`, which `scripts/openai-clients` starts beside the server.
 *
 * Usage: GATEWRIGHT_URL=http://HOST:PORT/v2 GATEWRIGHT_TOKEN=... node tour.mjs
 */

import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";

import OpenAI from "openai";
import { LengthFinishReasonError } from "openai/error";
import { zodResponseFormat } from "openai/helpers/zod";
import { z } from "zod";

const { GATEWRIGHT_URL: url, GATEWRIGHT_TOKEN: token } = process.env;
const baseURL = `${url}/openai`;
const nobody = "0195b0c2-7a01-7000-8000-000000000001";
const messages = [{ role: "user", content: "hi" }];
const weather = {
  type: "function",
  function: {
    name: "weather", description: "The weather in a city", strict: true,
    parameters: {
      type: "object", properties: { city: { type: "string" } }, required: ["city"], additionalProperties: false,
    },
  },
};
const Person = z.object({
  name: z.string(), age: z.int(), likes: z.array(z.object({ what: z.string(), much: z.int().nullable() })),
});
const person = { name: "Ada", age: 36, likes: [{ what: "tea", much: null }] };
const personFormat = zodResponseFormat(Person, "person");

const client = new OpenAI({ baseURL, apiKey: token, maxRetries: 0 });
const { completions } = client.chat;

const same = (found, wanted) => assert.deepEqual(found, wanted);

/** What the gateway recorded of a call. */
async function span(id) {
  const answer = await fetch(`${url}/spans/${id}`, { headers: { authorization: `Bearer ${token}` } });
  return answer.json();
}

async function thrown(kind, call) {
  try {
    await call();
  } catch (error) {
    same(error.constructor.name, kind.name);
    return error;
  }
  assert.fail(`no ${kind.name} was thrown`);
}

async function read(stream) {
  const chunks = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}

const text = (chunks) => chunks.map((chunk) => chunk.choices[0]?.delta.content ?? "").join("");

async function aConversationIsContinued() {
  const { data, response } = await completions.create({ model: "house/text", messages, temperature: 0.5 }).withResponse();
  same([data.object, data.model, data.choices.length], ["chat.completion", "house/text", 1]);
  const [choice] = data.choices;
  same([choice.message.role, choice.message.content, choice.finish_reason], ["assistant", "Hello, world.", "stop"]);
  same([choice.message.refusal, choice.message.tool_calls, choice.logprobs], [null, undefined, null]);
  same([data.usage.prompt_tokens, data.usage.completion_tokens, data.usage.total_tokens], [12, 5, 17]);
  same([data.span_id, data.id], [response.headers.get("x-span-id"), `chatcmpl-${data.span_id}`]);
  same(Object.keys(data.cost), ["generation", "platform", "total"]);
  same((await span(data.span_id)).output, "Hello, world.");
}

async function whatIsOursGoesAlong() {
  const extra = { tags: { tour: "typescript" }, fallback_models: ["house/text"] };
  const answer = await completions.create({ model: "house/fails", messages, ...extra });
  same(answer.model, "house/text");
  same((await span(answer.span_id)).meta.tags, { tour: "typescript" });
  const body = { model: "house/text", messages: [{ role: "user", content: `${Date.now()} ${Math.random()}` }] };
  const headers = { "X-Gatewright-Cache-Ttl": "60" };
  same((await completions.create(body, { headers })).cached, false);
  same((await completions.create(body, { headers })).cached, true);
}

async function aConversationStreams() {
  const chunks = await read(await completions.create({ model: "house/text", messages, stream: true }));
  same(text(chunks), "Hello, world.");
  same(chunks[0].choices[0].delta.role, "assistant");
  same(chunks.map((chunk) => chunk.choices[0].finish_reason).filter(Boolean), ["stop"]);
  assert.ok(chunks.every((chunk) => !("usage" in chunk)));
}

async function aStreamBringsItsUsageWhereThatIsAskedFor() {
  const options = { stream: true, stream_options: { include_usage: true } };
  const chunks = await read(await completions.create({ model: "house/text", messages, ...options }));
  same(chunks.at(-1).choices, []);
  same([chunks.at(-1).usage.prompt_tokens, chunks.at(-1).usage.total_tokens], [12, 17]);
}

async function theStreamHelperPutsTheAnswerTogether() {
  const pieces = [];
  const stream = completions.stream({ model: "house/text", messages }).on("content", (piece) => pieces.push(piece));
  same((await stream.finalChatCompletion()).choices[0].message.content, "Hello, world.");
  same(pieces.join(""), "Hello, world.");
}

async function toolsAreCalledAndTheirResultsGoBack() {
  const asked = await completions.create({ model: "house/tools", messages, tools: [weather], tool_choice: "auto" });
  const { finish_reason, message } = asked.choices[0];
  same([finish_reason, message.content], ["tool_calls", null]);
  same(message.tool_calls.map((call) => [call.id, call.type, call.function.name, JSON.parse(call.function.arguments)]), [
    ["call_oslo", "function", "weather", { city: "Oslo" }],
    ["call_rome", "function", "weather", { city: "Rome" }],
  ]);
  const results = message.tool_calls.map(({ id }, at) => ({
    role: "tool", tool_call_id: id, content: ["-3", "20"][at],
  }));
  const turns = [...messages, message, ...results];
  const answered = await completions.create({ model: "house/tools", messages: turns, tools: [weather] });
  same(answered.choices[0].message.content, "-3 and 20");
}

async function theClientRunsToolsItself() {
  const cities = [];
  const tool = {
    type: "function",
    function: { ...weather.function, parse: JSON.parse, function: ({ city }) => (cities.push(city), `cold in ${city}`) },
  };
  const runner = completions.runTools({ model: "house/tools", messages, tools: [tool] });
  same(await runner.finalContent(), "cold in Oslo and cold in Rome");
  same(cities, ["Oslo", "Rome"]);
}

async function callsOfToolsStream() {
  const stream = completions.stream({ model: "house/tools", messages, tools: [weather] });
  const done = [];
  stream.on("tool_calls.function.arguments.done", (event) => done.push([event.index, event.name, event.arguments]));
  const whole = await stream.finalChatCompletion();
  same(done, [[0, "weather", '{"city":"Oslo"}'], [1, "weather", '{"city":"Rome"}']]);
  same(whole.choices[0].message.tool_calls.map((call) => call.id), ["call_oslo", "call_rome"]);
  same(whole.choices[0].finish_reason, "tool_calls");
}

async function aValueIsParsed() {
  const body = { model: "house/value", messages, response_format: personFormat };
  same((await completions.parse(body)).choices[0].message.parsed, person);
  same((await completions.stream(body).finalChatCompletion()).choices[0].message.parsed, person);
}

async function whatIsNoValueSaysSo() {
  const parse = (model) => completions.parse({ model, messages, response_format: personFormat });
  const refused = (await parse("house/refuses")).choices[0].message;
  same([refused.parsed, refused.refusal], [null, "No."]);
  await thrown(LengthFinishReasonError, () => parse("house/cut-value"));
  same((await thrown(OpenAI.BadRequestError, () => parse("house/wrong"))).status, 400);
}

async function jsonModeGivesAnObject() {
  const answer = await completions.create({ model: "house/value", messages, response_format: { type: "json_object" } });
  same(JSON.parse(answer.choices[0].message.content).name, "Ada");
}

async function errorsAreTheClientsOwn() {
  const ask = (more) => completions.create({ model: "house/text", messages, ...more });
  same((await thrown(OpenAI.BadRequestError, () => ask({ n: 2 }))).status, 400);
  const stranger = new OpenAI({ baseURL, apiKey: "nobody" });
  await thrown(OpenAI.AuthenticationError, () => stranger.models.list());
  await thrown(OpenAI.NotFoundError, () => client.models.retrieve("nobody/x"));
  await thrown(OpenAI.NotFoundError, () => ask({ parent_span_id: nobody }));
  await thrown(OpenAI.UnprocessableEntityError, () => ask({ messages: [] }));
  const limited = await thrown(OpenAI.RateLimitError, () => ask({ model: "house/limits" }));
  assert.ok(Number(limited.headers.get("retry-after")) >= 1);
  const failed = await thrown(OpenAI.InternalServerError, () => ask({ model: "house/fails" }));
  same(failed.status, 502);
  assert.match(failed.headers.get("x-span-id"), /^[0-9a-f-]{36}$/);
  await thrown(OpenAI.InternalServerError, () => ask({ model: "house/fails", stream: true }));
}

async function theClientAsksAgainNoMoreThanItWasTold() {
  let asked = 0;
  const counting = (...request) => (asked++, fetch(...request));
  const counted = new OpenAI({ baseURL, apiKey: token, maxRetries: 1, fetch: counting });
  const ask = (more) => () => counted.chat.completions.create({ messages, ...more });
  await thrown(OpenAI.InternalServerError, ask({ model: "house/fails" }));
  same(asked, 2);
  await thrown(OpenAI.BadRequestError, ask({ model: "house/text", n: 2 }));
  same(asked, 3);
}

async function textsAreEmbedded() {
  for (const encoding_format of [undefined, "float"]) {
    const made = await client.embeddings.create({ model: "house/embed", input: ["a", "b"], dimensions: 3, encoding_format });
    same(made.data.map((item) => [...item.embedding]), [[0.5, 0.5, 0.5], [1.5, 1.5, 1.5]]);
    same([made.data.map((item) => item.index), made.usage.total_tokens], [[0, 1], 8]);
  }
  await thrown(OpenAI.BadRequestError, () => client.embeddings.create({ model: "house/embed", input: [1, 2, 3] }));
}

async function modelsAreListedAndRead() {
  const names = (await read(client.models.list())).map((model) => model.id);
  assert.ok(names.includes("offline/json"), names);
  for (const name of ["offline/json", "house/text"]) {
    const model = await client.models.retrieve(name);
    same([model.id, model.object, model.owned_by], [name, "model", name.split("/")[0]]);
  }
}

async function aStreamThatBreaksThrows() {
  const pieces = [];
  const error = await thrown(OpenAI.APIError, async () => {
    const stream = await completions.create({ model: "house/breaks", messages, stream: true });
    for await (const chunk of stream) pieces.push(chunk.choices[0].delta.content);
  });
  same(pieces.join(""), "Hello, w");
  same([error.error.type, error.message], ["UpstreamError", "The model provider failed"]);
  assert.match(error.error.detail.reason, /broke/);
}

async function aStreamThatIsAbortedEndsTheCall() {
  const asked = completions.create({ model: "house/slow", messages, stream: true });
  const { data: stream, response } = await asked.withResponse();
  for await (const chunk of stream) {
    same(chunk.choices[0].delta.content, "word");
    break;
  }
  stream.controller.abort();
  let record;
  for (let tries = 0; tries < 100 && !record?.end_time; tries++) {
    await sleep(50);
    record = await span(response.headers.get("x-span-id"));
  }
  same(record.error, "client disconnected");
}

const steps = [
  aConversationIsContinued,
  whatIsOursGoesAlong,
  aConversationStreams,
  aStreamBringsItsUsageWhereThatIsAskedFor,
  theStreamHelperPutsTheAnswerTogether,
  toolsAreCalledAndTheirResultsGoBack,
  theClientRunsToolsItself,
  callsOfToolsStream,
  aValueIsParsed,
  whatIsNoValueSaysSo,
  jsonModeGivesAnObject,
  errorsAreTheClientsOwn,
  theClientAsksAgainNoMoreThanItWasTold,
  textsAreEmbedded,
  modelsAreListedAndRead,
  aStreamThatBreaksThrows,
  aStreamThatIsAbortedEndsTheCall,
];
for (const step of steps) {
  try {
    await step();
    console.log(`ok      typescript: ${step.name}`);
  } catch (error) {
    console.log(`FAILED  typescript: ${step.name}\n${error.stack}`);
  }
}
