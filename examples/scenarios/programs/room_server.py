"""A tiny booking service: POST JSON to /chat, get JSON back. It keeps each conversation under an id of its own."""

import json
import os
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

conversations = {}


def reply(memory, text, opens, office):
    for key, pattern in [("people", r"for (\w+)"), ("day", r"(\w+day)"), ("hour", r"\b(\d+)\b")]:
        if found := re.search(pattern, text):
            memory[key] = found[1]
    if int(memory.get("hour", 0)) < opens:
        return f"Rooms open from {opens}. Which hour do you want?"
    return f"Booked: a room for {memory['people']} on {memory['day']} at {memory['hour']} in {office}."


class Rooms(BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        known = asked["conversation"] in conversations
        name = asked["conversation"] if known else f"c-{len(conversations) + 1}"
        memory = conversations.setdefault(name, {})
        opens = asked["plugins"][0]["config"]["opens"]
        text = reply(memory, asked["text"], opens, self.headers["x-office"])
        self.answer({"reply": {"text": text}, "conversation": name, "tokens": {"in": 30, "out": len(text.split())}})

    def answer(self, value):
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Rooms).serve_forever()
