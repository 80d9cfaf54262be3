"""The official SDKs as clients of a server that speaks their APIs.

Called as `sdk_calls.py API ADDRESS`. Makes the same calls with each SDK and writes to standard output, as JSON, what
the SDK made of the answers. What the server made of the requests is its own to tell.
"""

import base64
import json
import sys

import pydantic

IMAGE = base64.b64decode("iVBORw0KGgo=")
WEATHER = {"Oslo": 7, "Rome": 24}
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


class Event(pydantic.BaseModel):
    name: str
    day: str
    guests: int


def get_weather(city: str) -> dict:
    """Says how warm it is."""
    return {"degrees": WEATHER[city]}


def with_openai(address):
    import openai

    client = openai.OpenAI(base_url=f"{address}/v1", api_key="sk-oracle", max_retries=0)
    tools = [
        {
            "type": "function",
            "function": {"name": "get_weather", "description": "Says how warm it is.", "parameters": PARAMETERS},
        }
    ]
    results = {}

    whole = client.chat.completions.create(
        model="gpt-oracle",
        messages=[{"role": "system", "content": "be brief"}, {"role": "user", "content": "say hello"}],
        temperature=0.5,
        max_completion_tokens=64,
        seed=7,
        stop=["END"],
    )
    results["whole"] = {
        "id": whole.id,
        "model": whole.model,
        "text": whole.choices[0].message.content,
        "finish": whole.choices[0].finish_reason,
        "input": whole.usage.prompt_tokens,
        "output": whole.usage.completion_tokens,
        "cached": whole.usage.prompt_tokens_details.cached_tokens,
    }

    pieces, usage = [], None
    for chunk in client.chat.completions.create(
        model="gpt-oracle",
        messages=[{"role": "user", "content": "say hello"}],
        stream=True,
        stream_options={"include_usage": True},
    ):
        pieces += [choice.delta.content for choice in chunk.choices if choice.delta.content]
        usage = chunk.usage or usage
    results["stream"] = {"pieces": pieces, "input": usage.prompt_tokens, "output": usage.completion_tokens}

    def tool_loop(ask):
        messages = [{"role": "user", "content": "compare Oslo and Rome"}]
        first = ask(messages)
        messages.append(first.model_dump(exclude_none=True))
        for call in first.tool_calls:
            result = get_weather(**json.loads(call.function.arguments))
            messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps(result)})
        calls = [[call.id, call.function.name, json.loads(call.function.arguments)] for call in first.tool_calls]
        return {"said": first.content, "calls": calls, "text": ask(messages).content}

    def ask(messages):
        return client.chat.completions.create(model="gpt-oracle", messages=messages, tools=tools).choices[0].message

    def ask_stream(messages):
        with client.chat.completions.stream(model="gpt-oracle", messages=messages, tools=tools) as stream:
            for _ in stream:
                pass
            return stream.get_final_completion().choices[0].message

    results["tools"] = tool_loop(ask)
    results["tools_stream"] = tool_loop(ask_stream)

    parsed = client.chat.completions.parse(
        model="gpt-oracle",
        messages=[{"role": "user", "content": "extract the event"}],
        response_format=Event,
    )
    results["structured"] = parsed.choices[0].message.parsed.model_dump()

    url = "data:image/png;base64," + base64.b64encode(IMAGE).decode()
    content = [{"type": "text", "text": "what is this?"}, {"type": "image_url", "image_url": {"url": url}}]
    seen = client.chat.completions.create(model="gpt-oracle", messages=[{"role": "user", "content": content}])
    results["image"] = seen.choices[0].message.content

    refused = client.chat.completions.create(model="gpt-oracle", messages=[{"role": "user", "content": "refuse"}])
    results["refused"] = refused.choices[0].finish_reason

    for status, kind in [(429, openai.RateLimitError), (400, openai.BadRequestError), (500, openai.InternalServerError)]:
        try:
            client.chat.completions.create(
                model="gpt-oracle", messages=[{"role": "user", "content": f"fail with {status}"}]
            )
        except kind as error:
            results[f"error_{status}"] = error.body["message"]
    return results


def with_anthropic(address):
    import anthropic

    client = anthropic.Anthropic(base_url=address, api_key="sk-ant-oracle", max_retries=0)
    tools = [{"name": "get_weather", "description": "Says how warm it is.", "input_schema": PARAMETERS}]
    common = {"model": "claude-oracle", "max_tokens": 64}
    results = {}

    whole = client.messages.create(
        system="be brief",
        messages=[{"role": "user", "content": "say hello"}],
        stop_sequences=["END"],
        **common,
    )
    results["whole"] = {
        "id": whole.id,
        "model": whole.model,
        "text": whole.content[0].text,
        "finish": whole.stop_reason,
        "input": whole.usage.input_tokens,
        "output": whole.usage.output_tokens,
        "cached": whole.usage.cache_read_input_tokens,
    }

    with client.messages.stream(messages=[{"role": "user", "content": "say hello"}], **common) as stream:
        pieces = list(stream.text_stream)
        usage = stream.get_final_message().usage
    results["stream"] = {"pieces": pieces, "input": usage.input_tokens, "output": usage.output_tokens}

    def tool_loop(ask):
        messages = [{"role": "user", "content": "compare Oslo and Rome"}]
        first = ask(messages)
        calls = [block for block in first.content if block.type == "tool_use"]
        messages.append({"role": "assistant", "content": first.content})
        answers = [
            {"type": "tool_result", "tool_use_id": call.id, "content": json.dumps(get_weather(**call.input))}
            for call in calls
        ]
        messages.append({"role": "user", "content": answers})
        return {
            "said": first.content[0].text,
            "calls": [[call.id, call.name, call.input] for call in calls],
            "text": ask(messages).content[0].text,
        }

    def ask(messages):
        return client.messages.create(messages=messages, tools=tools, tool_choice={"type": "auto"}, **common)

    def ask_stream(messages):
        with client.messages.stream(messages=messages, tools=tools, **common) as stream:
            return stream.get_final_message()

    results["tools"] = tool_loop(ask)
    results["tools_stream"] = tool_loop(ask_stream)

    question = [{"role": "user", "content": "extract the event"}]
    with client.messages.stream(messages=question, output_format=Event, **common) as stream:
        results["structured"] = stream.get_final_message().parsed_output.model_dump()

    source = {"type": "base64", "media_type": "image/png", "data": base64.b64encode(IMAGE).decode()}
    content = [{"type": "text", "text": "what is this?"}, {"type": "image", "source": source}]
    seen = client.messages.create(messages=[{"role": "user", "content": content}], **common)
    results["image"] = seen.content[0].text

    refused = client.messages.create(messages=[{"role": "user", "content": "refuse"}], **common)
    results["refused"] = refused.stop_reason

    thinking = {"type": "enabled", "budget_tokens": 1024}
    messages = [{"role": "user", "content": "think first"}]
    with client.messages.stream(messages=messages, thinking=thinking, **common) as stream:
        thought = stream.get_final_message()
    messages += [{"role": "assistant", "content": thought.content}, {"role": "user", "content": "and now?"}]
    after = client.messages.create(messages=messages, thinking=thinking, **common)
    results["thinking"] = {
        "thought": thought.content[0].thinking,
        "signature": thought.content[0].signature,
        "text": thought.content[1].text,
        "after": after.content[0].text,
    }

    for status, kind in [
        (429, anthropic.RateLimitError),
        (400, anthropic.BadRequestError),
        (500, anthropic.InternalServerError),
    ]:
        try:
            client.messages.create(messages=[{"role": "user", "content": f"fail with {status}"}], **common)
        except kind as error:
            results[f"error_{status}"] = error.body["error"]["message"]
    return results


def with_gemini(address):
    from google import genai
    from google.genai import errors, types

    options = types.HttpOptions(base_url=address, retry_options=types.HttpRetryOptions(attempts=1))
    client = genai.Client(api_key="oracle", http_options=options)
    models = client.models
    results = {}

    whole = models.generate_content(
        model="gemini-oracle",
        contents="say hello",
        config=types.GenerateContentConfig(
            system_instruction="be brief", temperature=0.5, max_output_tokens=64, seed=7, stop_sequences=["END"]
        ),
    )
    results["whole"] = {
        "id": whole.response_id,
        "model": whole.model_version,
        "text": whole.text,
        "finish": whole.candidates[0].finish_reason.value,
        "input": whole.usage_metadata.prompt_token_count,
        "output": whole.usage_metadata.candidates_token_count,
        "cached": whole.usage_metadata.cached_content_token_count,
    }

    pieces, usage = [], None
    for chunk in models.generate_content_stream(model="gemini-oracle", contents="say hello"):
        pieces.append(chunk.text)
        usage = chunk.usage_metadata or usage
    results["stream"] = {
        "pieces": pieces,
        "input": usage.prompt_token_count,
        "output": usage.candidates_token_count,
    }

    # The SDK declares the Python function, calls it and sends the results by itself.
    config = types.GenerateContentConfig(tools=[get_weather])
    answer = models.generate_content(model="gemini-oracle", contents="compare Oslo and Rome", config=config)
    asked = answer.automatic_function_calling_history[1].parts
    calls = [part.function_call for part in asked if part.function_call]
    results["tools"] = {
        "said": asked[0].text,
        "calls": [[call.id, call.name, call.args] for call in calls],
        "text": answer.text,
    }

    declaration = types.FunctionDeclaration(
        name="get_weather", description="Says how warm it is.", parameters_json_schema=PARAMETERS
    )
    config = types.GenerateContentConfig(tools=[types.Tool(function_declarations=[declaration])])
    contents = [types.UserContent("compare Oslo and Rome")]
    parts = []
    for chunk in models.generate_content_stream(model="gemini-oracle", contents=contents, config=config):
        parts += chunk.candidates[0].content.parts
    calls = [part.function_call for part in parts if part.function_call]
    contents.append(types.ModelContent(parts))
    contents.append(
        types.UserContent(
            [
                types.Part(
                    function_response=types.FunctionResponse(
                        id=call.id, name=call.name, response=get_weather(**call.args)
                    )
                )
                for call in calls
            ]
        )
    )
    last = "".join(
        chunk.text
        for chunk in models.generate_content_stream(model="gemini-oracle", contents=contents, config=config)
    )
    results["tools_stream"] = {
        "said": "".join(part.text for part in parts if part.text),
        "calls": [[call.id, call.name, call.args] for call in calls],
        "text": last,
    }

    config = types.GenerateContentConfig(response_mime_type="application/json", response_schema=Event)
    parsed = models.generate_content(model="gemini-oracle", contents="extract the event", config=config)
    results["structured"] = parsed.parsed.model_dump()

    image = types.Part.from_bytes(data=IMAGE, mime_type="image/png")
    seen = models.generate_content(model="gemini-oracle", contents=["what is this?", image])
    results["image"] = seen.text

    refused = models.generate_content(model="gemini-oracle", contents="refuse")
    results["refused"] = refused.candidates[0].finish_reason.value

    config = types.GenerateContentConfig(thinking_config=types.ThinkingConfig(include_thoughts=True))
    thought = models.generate_content(model="gemini-oracle", contents="think first", config=config)
    history = [types.UserContent("think first"), thought.candidates[0].content, types.UserContent("and now?")]
    after = models.generate_content(model="gemini-oracle", contents=history, config=config)
    parts = thought.candidates[0].content.parts
    results["thinking"] = {
        "thought": parts[0].text,
        "signature": base64.b64encode(parts[0].thought_signature).decode(),
        "text": thought.text,
        "after": after.text,
    }

    for status in (429, 400, 500):
        try:
            models.generate_content(model="gemini-oracle", contents=f"fail with {status}")
        except errors.APIError as error:
            assert error.code == status, error
            results[f"error_{status}"] = error.message
    return results


def main():
    api, address = sys.argv[1:]
    calls = {"openai": with_openai, "anthropic": with_anthropic, "gemini": with_gemini}[api]
    json.dump(calls(address), sys.stdout)


main()
