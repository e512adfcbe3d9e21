"""A tour of the OpenAI-compatible door with the official Python client, unmodified: only its base URL and its key are ours.

The models are those of testkit's `scripted-upstream`, which `scripts/openai-clients` starts beside the server.

Usage: GATEWRIGHT_URL=http://HOST:PORT/v2 GATEWRIGHT_TOKEN=... tour.py
"""

import asyncio
import json
import os
import time
import traceback
import urllib.request

import openai
from pydantic import BaseModel

URL, TOKEN = os.environ["GATEWRIGHT_URL"], os.environ["GATEWRIGHT_TOKEN"]
BASE_URL = f"{URL}/openai"
NOBODY = "0195b0c2-7a01-7000-8000-000000000001"
HI = [{"role": "user", "content": "hi"}]
WEATHER = {
    "type": "function",
    "function": {
        "name": "weather", "description": "The weather in a city", "strict": True,
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"],
                       "additionalProperties": False},
    },
}


class Liking(BaseModel):
    what: str
    much: int | None


class Person(BaseModel):
    """A schema as a user of the client writes it: strict, with definitions, and a part that may be null."""

    name: str
    age: int
    likes: list[Liking]


PERSON = Person(name="Ada", age=36, likes=[Liking(what="tea", much=None)])


def same(found, wanted):
    assert found == wanted, f"{found!r} is not {wanted!r}"


def span(id):
    """What the gateway recorded of a call."""
    request = urllib.request.Request(f"{URL}/spans/{id}", headers={"Authorization": f"Bearer {TOKEN}"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def raised(kind, call):
    try:
        call()
    except kind as error:
        same(type(error), kind)
        return error
    raise AssertionError(f"no {kind.__name__} was raised")


def a_conversation_is_continued(client):
    raw = client.chat.completions.with_raw_response.create(model="house/text", messages=HI, temperature=0.5)
    answer = raw.parse()
    same((answer.object, answer.model, len(answer.choices)), ("chat.completion", "house/text", 1))
    choice = answer.choices[0]
    same((choice.message.role, choice.message.content, choice.finish_reason), ("assistant", "Hello, world.", "stop"))
    same((choice.message.refusal, choice.message.tool_calls, choice.logprobs), (None, None, None))
    usage = answer.usage
    same((usage.prompt_tokens, usage.completion_tokens, usage.total_tokens), (12, 5, 17))
    same(usage.prompt_tokens_details.cached_tokens, 0)
    same(usage.completion_tokens_details.reasoning_tokens, 0)
    same(answer.model_extra["span_id"], raw.headers["x-span-id"])
    same(answer.id, f"chatcmpl-{raw.headers['x-span-id']}")
    same(set(answer.model_extra["cost"]), {"generation", "platform", "total"})
    same(span(answer.model_extra["span_id"])["output"], "Hello, world.")


def what_is_ours_goes_along(client):
    extra = {"tags": {"tour": "python"}, "fallback_models": ["house/text"]}
    answer = client.chat.completions.create(model="house/fails", messages=HI, extra_body=extra)
    same(answer.model, "house/text")
    same(span(answer.model_extra["span_id"])["meta"]["tags"], {"tour": "python"})
    kept = {"extra_headers": {"X-Gatewright-Cache-Ttl": "60"}, "messages": [{"role": "user", "content": str(time.time())}]}
    answers = [client.chat.completions.create(model="house/text", **kept) for _ in range(2)]
    same([answer.model_extra["cached"] for answer in answers], [False, True])


def a_conversation_streams(client):
    chunks = list(client.chat.completions.create(model="house/text", messages=HI, stream=True))
    same("".join(chunk.choices[0].delta.content or "" for chunk in chunks), "Hello, world.")
    same(chunks[0].choices[0].delta.role, "assistant")
    same([chunk.choices[0].finish_reason for chunk in chunks if chunk.choices[0].finish_reason], ["stop"])
    same({chunk.usage for chunk in chunks}, {None})


def a_stream_brings_its_usage_where_that_is_asked_for(client):
    options = {"include_usage": True}
    chunks = list(client.chat.completions.create(model="house/text", messages=HI, stream=True, stream_options=options))
    same([chunk.choices for chunk in chunks if not chunk.choices], [[]])
    same((chunks[-1].usage.prompt_tokens, chunks[-1].usage.total_tokens), (12, 17))


def the_stream_helper_puts_the_answer_together(client):
    with client.chat.completions.stream(model="house/text", messages=HI) as stream:
        deltas = [event.delta for event in stream if event.type == "content.delta"]
        whole = stream.get_final_completion()
    same(("".join(deltas), whole.choices[0].message.content), ("Hello, world.",) * 2)


def tools_are_called_and_their_results_go_back(client):
    asked = client.chat.completions.create(model="house/tools", messages=HI, tools=[WEATHER], tool_choice="auto")
    choice = asked.choices[0]
    same((choice.finish_reason, choice.message.content), ("tool_calls", None))
    calls = choice.message.tool_calls
    same([(call.id, call.type, call.function.name) for call in calls],
         [("call_oslo", "function", "weather"), ("call_rome", "function", "weather")])
    same([json.loads(call.function.arguments) for call in calls], [{"city": "Oslo"}, {"city": "Rome"}])
    results = [{"role": "tool", "tool_call_id": call.id, "content": text} for call, text in zip(calls, ("-3", "20"))]
    turns = [*HI, choice.message, *results]
    same(client.chat.completions.create(model="house/tools", messages=turns, tools=[WEATHER]).choices[0].message.content,
         "-3 and 20")


def calls_of_tools_stream(client):
    with client.chat.completions.stream(model="house/tools", messages=HI, tools=[WEATHER]) as stream:
        done = [event for event in stream if event.type == "tool_calls.function.arguments.done"]
        whole = stream.get_final_completion()
    same([(event.index, event.name, event.parsed_arguments) for event in done],
         [(0, "weather", {"city": "Oslo"}), (1, "weather", {"city": "Rome"})])
    same([call.id for call in whole.choices[0].message.tool_calls], ["call_oslo", "call_rome"])
    same(whole.choices[0].finish_reason, "tool_calls")


def a_value_is_parsed(client):
    answer = client.chat.completions.parse(model="house/value", messages=HI, response_format=Person)
    same(answer.choices[0].message.parsed, PERSON)
    with client.chat.completions.stream(model="house/value", messages=HI, response_format=Person) as stream:
        same(stream.get_final_completion().choices[0].message.parsed, PERSON)


def what_is_no_value_says_so(client):
    parse = client.chat.completions.parse
    refused = parse(model="house/refuses", messages=HI, response_format=Person).choices[0].message
    same((refused.parsed, refused.refusal), (None, "No."))
    raised(openai.LengthFinishReasonError,
           lambda: parse(model="house/cut-value", messages=HI, response_format=Person))
    never = raised(openai.BadRequestError, lambda: parse(model="house/wrong", messages=HI, response_format=Person))
    same((never.type, never.body["detail"]["attempts"]), ("StructuredGenerationError", 5))


def json_mode_gives_an_object(client):
    answer = client.chat.completions.create(model="house/value", messages=HI, response_format={"type": "json_object"})
    same(json.loads(answer.choices[0].message.content)["name"], "Ada")


def errors_are_the_clients_own(client):
    once = client.with_options(max_retries=0)
    ask = once.chat.completions.create
    bad = raised(openai.BadRequestError, lambda: ask(model="house/text", messages=HI, n=2))
    same((bad.status_code, bad.type, set(bad.body)), (400, "BadRequestError", {"type", "message", "detail"}))
    assert "one choice" in bad.body["detail"], bad.body
    stranger = openai.OpenAI(base_url=BASE_URL, api_key="nobody")
    same(raised(openai.AuthenticationError, lambda: stranger.models.list()).type, "UnauthorizedError")
    raised(openai.NotFoundError, lambda: once.models.retrieve("nobody/x"))
    raised(openai.NotFoundError, lambda: ask(model="house/text", messages=HI, extra_body={"parent_span_id": NOBODY}))
    faulty = raised(openai.UnprocessableEntityError, lambda: ask(model="house/text", messages=[]))
    same(faulty.body["detail"][0]["loc"], ["body", "messages"])
    limited = raised(openai.RateLimitError, lambda: ask(model="house/limits", messages=HI))
    assert int(limited.response.headers["retry-after"]) >= 1
    failed = raised(openai.InternalServerError, lambda: ask(model="house/fails", messages=HI))
    same((failed.status_code, failed.type), (502, "UpstreamError"))
    same(failed.body["detail"]["span_id"], failed.response.headers["x-span-id"])
    raised(openai.InternalServerError, lambda: ask(model="house/fails", messages=HI, stream=True))


def the_client_asks_again_no_more_than_it_was_told(client):
    asked = []
    hooks = {"request": [lambda request: asked.append(request.url.path)]}
    http = openai.DefaultHttpxClient(event_hooks=hooks)
    counted = openai.OpenAI(base_url=BASE_URL, api_key=TOKEN, max_retries=1, http_client=http)
    raised(openai.InternalServerError, lambda: counted.chat.completions.create(model="house/fails", messages=HI))
    same(asked, ["/v2/openai/chat/completions"] * 2)
    asked.clear()
    raised(openai.BadRequestError, lambda: counted.chat.completions.create(model="house/text", messages=HI, n=2))
    same(len(asked), 1)


def texts_are_embedded(client):
    for more in ({}, {"encoding_format": "float"}, {"encoding_format": "base64"}):
        made = client.embeddings.create(model="house/embed", input=["a", "b"], dimensions=3, **more)
        vectors = [item.embedding for item in made.data]
        if more.get("encoding_format") == "base64":
            same([type(vector) for vector in vectors], [str, str])
        else:
            same(vectors, [[0.5] * 3, [1.5] * 3])
        same(([item.index for item in made.data], made.usage.total_tokens), ([0, 1], 8))
    same(len(client.embeddings.create(model="house/embed", input="a").data[0].embedding), 4)
    tokens = raised(openai.BadRequestError, lambda: client.embeddings.create(model="house/embed", input=[1, 2, 3]))
    assert "tokens" in tokens.body["detail"]


def models_are_listed_and_read(client):
    models = list(client.models.list())
    assert "offline/json" in [model.id for model in models], models
    for name in ("offline/json", "house/text"):
        model = client.models.retrieve(name)
        same((model.id, model.object, model.owned_by), (name, "model", name.split("/")[0]))


def a_stream_that_breaks_raises(client):
    pieces = []

    def read():
        for chunk in client.chat.completions.create(model="house/breaks", messages=HI, stream=True):
            pieces.append(chunk.choices[0].delta.content)

    error = raised(openai.APIError, read)
    same("".join(pieces), "Hello, w")
    same((error.message, error.type), ("The model provider failed", "UpstreamError"))
    assert "broke" in error.body["detail"]["reason"], error.body


def a_stream_that_is_closed_ends_the_call(client):
    raw = client.chat.completions.with_raw_response.create(model="house/slow", messages=HI, stream=True)
    stream = raw.parse()
    same(next(iter(stream)).choices[0].delta.content, "word")
    stream.close()
    for _ in range(100):
        record = span(raw.headers["x-span-id"])
        if record["end_time"]:
            break
        time.sleep(0.05)
    same(record["error"], "client disconnected")


def the_asynchronous_client_does_the_same(_):
    async def go():
        async with openai.AsyncOpenAI(base_url=BASE_URL, api_key=TOKEN, max_retries=0) as client:
            create = client.chat.completions.create
            same((await create(model="house/text", messages=HI)).choices[0].message.content, "Hello, world.")
            stream = await create(model="house/text", messages=HI, stream=True)
            same("".join([chunk.choices[0].delta.content or "" async for chunk in stream]), "Hello, world.")
            parsed = await client.chat.completions.parse(model="house/value", messages=HI, response_format=Person)
            same(parsed.choices[0].message.parsed, PERSON)
            made = await client.embeddings.create(model="house/embed", input="a")
            same(made.data[0].embedding, [0.5] * 4)
            same([model.object async for model in client.models.list()][0], "model")
            try:
                async for _ in await create(model="house/breaks", messages=HI, stream=True):
                    pass
            except openai.APIError as error:
                same(error.type, "UpstreamError")
            else:
                raise AssertionError("nothing was raised")

    asyncio.run(go())


STEPS = [
    a_conversation_is_continued,
    what_is_ours_goes_along,
    a_conversation_streams,
    a_stream_brings_its_usage_where_that_is_asked_for,
    the_stream_helper_puts_the_answer_together,
    tools_are_called_and_their_results_go_back,
    calls_of_tools_stream,
    a_value_is_parsed,
    what_is_no_value_says_so,
    json_mode_gives_an_object,
    errors_are_the_clients_own,
    the_client_asks_again_no_more_than_it_was_told,
    texts_are_embedded,
    models_are_listed_and_read,
    a_stream_that_breaks_raises,
    a_stream_that_is_closed_ends_the_call,
    the_asynchronous_client_does_the_same,
]


def main():
    client = openai.OpenAI(base_url=BASE_URL, api_key=TOKEN, max_retries=0)
    for step in STEPS:
        try:
            step(client)
        except Exception:
            print(f"FAILED  python: {step.__name__}\n{traceback.format_exc()}", flush=True)
        else:
            print(f"ok      python: {step.__name__}", flush=True)


main()
