"""A world: a shop with two orders. It plays the tools of example 21, and needs nothing but Python."""

import json
import sys

ORDERS = {"17": {"status": "paid", "total": 23.5}, "18": {"status": "sent", "total": 9}}


def send(**message):
    print(json.dumps(message), flush=True)


def tool(name, description, by="agent", **properties):
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    return {"name": name, "description": description, "parameters": parameters, "by": by}


def tools():
    order = {"type": "string", "description": "The number of the order."}
    return [
        tool("find_order", "Finds an order.", order=order),
        tool("refund", "Pays an order back.", order=order),
        tool("send_email", "Writes to the customer.", text={"type": "string"}),
        tool("look_at_account", "Looks whether the money is there.", by="user"),
    ]


def call(name, args):
    if name == "look_at_account":
        return {"paid_back": [number for number, order in ORDERS.items() if order["status"] == "refunded"]}
    if name == "send_email":
        return "sent"
    order = ORDERS[args["order"]]
    if name == "refund":
        order["status"] = "refunded"
    return order


def answer(message):
    result = {"type": "result", "id": message["id"]}
    try:
        result["output"] = call(message["tool"], message["args"])
    except KeyError as error:
        result["error"] = {"type": "NOT_FOUND", "message": f"there is no order {error}"}
    send(**result, state={"orders": ORDERS})


for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "start":
        send(type="tools", tools=tools())
    elif message["type"] == "state":
        send(type="state", state={"orders": ORDERS})
    elif message["type"] == "call":
        answer(message)
    elif message["type"] == "end":
        break
