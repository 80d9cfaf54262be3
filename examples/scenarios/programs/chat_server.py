"""A tiny agent that speaks the chat protocol: it reads the messages so far and answers with the next one."""

import json
import os
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def answer(messages):
    said = " ".join(message["content"] for message in messages if message["role"] == "user")
    people = re.search(r"\d+", said)
    if people is None:
        return "Gladly! For how many people?"
    eggs = int(people[0]) * 3 // 2
    return f"You need {eggs} eggs and a little patience to make pancakes for {people[0]}."


class Chat(BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path != "/v1/chat/completions":
            return self.send(404, {"error": {"message": f"there is no {self.path}"}})
        text = answer(asked["messages"])
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 20 * len(asked["messages"]), "completion_tokens": len(text.split())}
        usage["total_tokens"] = sum(usage.values())
        reply = {"id": "chat-1", "object": "chat.completion", "created": 0, "model": asked["model"]}
        self.send(200, {**reply, "choices": [choice], "usage": usage})

    def send(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Chat).serve_forever()
