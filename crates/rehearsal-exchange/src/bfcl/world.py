"""A world over the original classes of BFCL's multi-turn entries: `python3 bfcl_world.py multi_turn_base_0`.

The classes, their function documents and the entries are those of the package `bfcl-eval`, which has to be installed for
this interpreter (`mpmath` too, for entries with `MathAPI`); nothing of them is copied here.

One process plays one entry. Functions that the entry withholds are listed once the user calls `more_functions`, a tool of
the user's side. The world's state has the public attributes of every object, which is what BFCL compares, and `answered`:
for every turn of the ground truth, the answers that no call has given so far.
"""

import ast
import copy
import hashlib
import importlib
import importlib.util
import inspect
import json
import sys
from pathlib import Path

# Texts longer than this stand in the state as their beginning, their length and their hash.
LONGEST = 400
TYPES = {"dict": "object", "float": "number", "tuple": "array", "any": None}


def package():
    found = importlib.util.find_spec("bfcl_eval")
    if found is None:
        raise SystemExit("the package `bfcl-eval` is not installed: pip install --no-deps bfcl-eval")
    return Path(next(iter(found.submodule_search_locations)))


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def schema(described):
    """A function document's parameters as JSON Schema: the names of the types are Python's there."""
    if isinstance(described, list):
        return [schema(each) for each in described]
    if not isinstance(described, dict):
        return described
    made = {}
    for key, value in described.items():
        if key == "type" and isinstance(value, str):
            value = TYPES.get(value, value)
            if value is None:
                continue
        elif key == "properties":
            value = {name: schema(each) for name, each in value.items()}
        elif key != "default":
            value = schema(value)
        made[key] = value
    return made


def kind(value):
    """The type of a value, as JSON Schema names it."""
    if value is None:
        return "null"
    for name, types in (
        ("boolean", bool),
        ("integer", int),
        ("number", float),
        ("string", str),
        ("array", (list, tuple)),
    ):
        if isinstance(value, types):
            return name
    return "object"


def widened(parameters, args):
    """Lets a call of the ground truth through that gives arguments of another type than the document says."""
    for name, value in args.items():
        described, given = parameters["properties"].get(name, {}), kind(value)
        declared = described.get("type", given)
        known = declared if isinstance(declared, list) else [declared]
        if given not in known and not (given == "integer" and "number" in known):
            described["type"] = [*known, given]


class Entry:
    """One entry of BFCL, with the objects that its functions belong to."""

    def __init__(self, name):
        self.name = name
        self.folder = package()
        category = name.rsplit("_", 1)[0]
        self.long_context = "long_context" in category
        self.record = self.find(self.folder / "data" / f"BFCL_v4_{category}.json")
        truth = self.find(self.folder / "data" / "possible_answer" / f"BFCL_v4_{category}.json")
        config = importlib.import_module("bfcl_eval.constants.executable_backend_config")
        self.config = config
        self.objects = self.made()
        self.owners = self.owned(self.objects)
        self.documents = {}
        for kind in self.record["involved_classes"]:
            file = config.MULTI_TURN_FUNC_DOC_FILE_MAPPING[kind]
            for document in lines(self.folder / "data" / "multi_turn_func_doc" / file):
                self.documents[document["name"]] = document
        self.schemas = {name: schema(document["parameters"]) for name, document in self.documents.items()}
        for excluded in self.record.get("excluded_function", []):
            self.documents.pop(excluded, None)
        missed = self.record.get("missed_function", {})
        # From the turn of a number on, in the order of the turns.
        self.withheld = [missed[turn] for turn in sorted(missed, key=int)]
        self.answers = []
        self.wanted = self.expected(truth["ground_truth"])

    def find(self, path):
        for record in lines(path):
            if record["id"] == self.name:
                return record
        raise SystemExit(f"there is no entry {self.name!r} in {path}")

    def made(self):
        objects = {}
        for kind in self.record["involved_classes"]:
            module = importlib.import_module(self.config.CLASS_FILE_PATH_MAPPING[kind])
            made = getattr(module, kind)()
            if kind not in self.config.STATELESS_CLASSES:
                given = copy.deepcopy(self.record["initial_config"].get(kind, {}))
                made._load_scenario(given, long_context=self.long_context)
            objects[kind] = made
        return objects

    def owned(self, objects):
        owners = {}
        for made in objects.values():
            for name, method in inspect.getmembers(made, predicate=inspect.ismethod):
                if not name.startswith("_"):
                    owners[name] = method
        return owners

    def expected(self, truth):
        """The answers that the ground truth gets, turn by turn, from objects of their own."""
        owners = self.owned(self.made())
        wanted = []
        for calls in truth:
            wanted.append([])
            for call in calls:
                parsed = ast.parse(call, mode="eval").body
                positional = [ast.literal_eval(each) for each in parsed.args]
                named = {each.arg: ast.literal_eval(each.value) for each in parsed.keywords}
                if described := self.schemas.get(parsed.func.id):
                    widened(described, {**dict(zip(described["properties"], positional)), **named})
                wanted[-1].append(performed(owners[parsed.func.id], positional, named))
        return wanted

    def listed(self):
        hidden = {name for names in self.withheld for name in names}
        tools = [
            {"name": name, "description": document["description"], "parameters": self.schemas[name]}
            for name, document in self.documents.items()
            if name not in hidden
        ]
        if self.withheld:
            about = "Gives the agent the functions that it lacks."
            tools.append({"name": "more_functions", "description": about, "by": "user"})
        return tools

    def call(self, name, args):
        if name == "more_functions":
            return {"output": self.withheld.pop(0)}
        answer = performed(self.owners[name], [], args)
        self.answers.append(answer)
        try:
            return {"output": json.loads(answer)}
        except ValueError:
            return {"output": answer}

    def state(self):
        return {
            "objects": {kind: public(made) for kind, made in self.objects.items()},
            "answered": {f"turn_{turn}": lacking(wanted, self.answers) for turn, wanted in enumerate(self.wanted, 1)},
        }


def performed(method, positional, named):
    """Calls a method; what it gives, as the text that BFCL compares."""
    try:
        given = method(*positional, **named)
    except Exception as error:
        return f"Error during execution: {error}"
    if isinstance(given, str):
        return given
    if isinstance(given, dict):
        try:
            return json.dumps(given)
        except TypeError:
            return str(given)
    return str(given)


def lacking(wanted, given):
    left = list(given)
    missing = []
    for each in wanted:
        if each in left:
            left.remove(each)
        else:
            missing.append(short(each))
    return missing


def short(text):
    if len(text) <= LONGEST:
        return text
    return f"{text[:60]}… ({len(text)} characters, {hashlib.sha256(text.encode()).hexdigest()})"


def public(value, seen=()):
    """What can be seen of a value, as JSON: attributes that begin with `_` and ways back up are left out."""
    if isinstance(value, str):
        return short(value)
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if id(value) in seen:
        return "(above)"
    seen = (*seen, id(value))
    if isinstance(value, dict):
        return {str(key): public(each, seen) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [public(each, seen) for each in value]
    if isinstance(value, (set, frozenset)):
        return sorted((public(each, seen) for each in value), key=str)
    if hasattr(value, "__dict__"):
        return {
            key: public(each, seen) for key, each in vars(value).items() if not key.startswith("_") and key != "parent"
        }
    return str(value)


def main(name):
    entry, said, tools = None, None, None
    # What a function prints is for people.
    out, sys.stdout = sys.stdout, sys.stderr

    def send(**message):
        print(json.dumps(message), file=out, flush=True)

    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "start":
            entry = Entry(name)
            tools = entry.listed()
            send(type="tools", tools=tools)
        elif message["type"] == "call":
            result = entry.call(message["tool"], message["args"])
            state, listed = entry.state(), entry.listed()
            if state != said:
                result["state"] = said = state
            if listed != tools:
                result["tools"] = tools = listed
            send(type="result", id=message["id"], **result)
        elif message["type"] == "state":
            said = entry.state()
            send(type="state", state=said)
        elif message["type"] == "end":
            return


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("usage: bfcl_world.py ENTRY")
    main(sys.argv[1])
