"""A world over the original tools of tau2-bench: `python3 tau2_world.py airline 12`.

The tools, their texts and the data are those of the package `inspect-evals`, which has to be installed for this
interpreter, as have `pydantic`, `toml` and `pyyaml`; nothing of them is copied here. Of `inspect_ai` the tools use a base
class, a store, an error and two decorators, for which small ones stand in below, so that it need not be installed and a
world starts in a fraction of a second.

One process plays one task: it sets up what the task's `initial_state` says, lists the agent's tools and, in telecom, those
of the user's phone, and says as its state which records differ from the data as shipped and which of the task's
`env_assertions` hold.
"""

import gc
import importlib
import importlib.util
import inspect
import json
import random
import sys
import types
import typing
import uuid
from pathlib import Path

DOMAINS = {
    "airline": {"agent": ("tools", "all_airline_tools")},
    "retail": {"agent": ("tools", "all_retail_tools")},
    "telecom": {"agent": ("tools", "all_telecom_agent_tools"), "user": ("user_tools", "all_telecom_user_tools")},
}


def stand_in_for_inspect():
    """Puts in place what the tools need of `inspect_ai`, and keeps `tau2/__init__.py`, which needs all of it, from running."""
    import pydantic

    class ToolError(Exception):
        pass

    class StoreModel(pydantic.BaseModel):
        model_config = pydantic.ConfigDict(arbitrary_types_allowed=True)
        instance: str | None = None

    stores = {}

    def store_as(model, instance=None):
        return stores.setdefault((model, instance), model(instance=instance))

    def module(name, **members):
        made = types.ModuleType(name)
        made.__dict__.update(members)
        sys.modules[name] = made
        return made

    module("inspect_ai").__path__ = []
    module("inspect_ai.tool", Tool=object, ToolError=ToolError, tool=lambda maker: maker)
    module("inspect_ai.util", StoreModel=StoreModel, store_as=store_as)
    module("inspect_ai.model", Content=object, ContentText=object)
    found = importlib.util.find_spec("inspect_evals")
    if found is None:
        raise SystemExit("the package `inspect-evals` is not installed: pip install --no-deps 'inspect-evals==0.26.*'")
    folder = Path(next(iter(found.submodule_search_locations))) / "tau2"
    module("inspect_evals.tau2").__path__ = [str(folder)]
    return folder


class Tool:
    """One of the original tools, with the schema that its signature and docstring say."""

    def __init__(self, maker, by):
        import pydantic

        self.name, self.by = maker.__name__, by
        self.execute = maker()
        text = inspect.getdoc(self.execute) or ""
        self.description, described = parts(text)
        hints = typing.get_type_hints(self.execute)
        fields = {}
        for name, parameter in inspect.signature(self.execute).parameters.items():
            default = ... if parameter.default is inspect.Parameter.empty else parameter.default
            described_field = pydantic.Field(default, description=described.get(name))
            fields[name] = (hints.get(name, typing.Any), described_field)
        self.model = pydantic.create_model(self.name, **fields)

    def listed(self):
        parameters = self.model.model_json_schema()
        parameters.pop("title", None)
        for described in parameters.get("properties", {}).values():
            described.pop("title", None)
        parameters["additionalProperties"] = False
        return {"name": self.name, "description": self.description, "parameters": parameters, "by": self.by}

    def call(self, args):
        made = self.model.model_validate(args)
        coroutine = self.execute(**{name: getattr(made, name) for name in self.model.model_fields})
        try:
            coroutine.send(None)
        except StopIteration as done:
            return done.value
        raise RuntimeError(f"{self.name} waits for something")


def parts(text):
    """What a docstring says of the tool, and of each of its parameters."""
    lines, described, section, last = [], {}, None, None
    for line in text.splitlines():
        word = line.strip()
        if word in ("Args:", "Returns:", "Raises:") and not line.startswith(" "):
            section, last = word, None
        elif section is None:
            lines.append(line)
        elif section == "Args:":
            name, colon, said = word.partition(":")
            if colon and name.isidentifier() and len(line) - len(line.lstrip()) <= 4:
                described[name], last = said.strip(), name
            elif last and word:
                described[last] += " " + word
    return "\n".join(lines).strip(), described


class Task:
    """One task of one domain, as it is played."""

    def __init__(self, domain, name):
        self.folder = stand_in_for_inspect()
        self.domain = domain
        self.record = self.find(name)
        load = lambda module: importlib.import_module(f"inspect_evals.tau2.{domain}.{module}")
        makers = {by: getattr(load(module), listed) for by, (module, listed) in DOMAINS[domain].items()}
        self.tools = {
            by: {made.name: made for made in (Tool(maker, by) for maker in those)} for by, those in makers.items()
        }
        if domain == "telecom":
            environment = load("environment")
            self.environment = environment.get_environment()
            self.stores = {"agent": self.environment.tools, "user": self.environment.user_tools}
        else:
            self.environment = None
            self.stores = {"agent": getattr(load("tools"), f"get_{domain}_tools")()}
        self.shipped = self.texts()
        self.begin()

    def find(self, name):
        data = self.folder / "data" / "domains" / self.domain
        for file in sorted(data.glob("tasks*.json*")):
            if file.suffix == ".gz":
                import gzip

                tasks = json.loads(gzip.decompress(file.read_bytes()))
            else:
                tasks = json.loads(file.read_text(encoding="utf-8"))
            for task in tasks:
                if str(task["id"]) == name:
                    return task
        raise SystemExit(f"there is no task {name!r} in {data}")

    def begin(self):
        """Does what the task's initial state says, as the original's initializer does."""
        initial = self.record.get("initial_state") or {}
        if initial.get("initialization_data") or initial.get("message_history"):
            raise SystemExit("initial data and message histories are not set up here")
        for action in initial.get("initialization_actions") or []:
            store = self.stores["user" if action["env_type"] == "user" else "agent"]
            getattr(store, action["func_name"])(**action["arguments"])
            self.settle()

    def settle(self):
        """Lets the phone feel what changed at the provider, and the other way round."""
        if self.environment is not None:
            self.environment.sync_tools()

    def listed(self):
        return [made.listed() for those in self.tools.values() for made in those.values()]

    def call(self, by, name, args):
        try:
            return {"output": self.tools[by][name].call(args)}
        # The original shows every exception to whoever called.
        except Exception as error:
            return {"error": {"type": type(error).__name__, "message": str(error)}}
        finally:
            self.settle()

    def texts(self):
        """The data of each side, as text: far quicker than looking at every record."""
        return {side: store.db.model_dump_json() for side, store in self.stores.items()}

    def changed(self):
        """The records that differ from the data as shipped: by who has them, their table and their key."""
        found = {}
        for side, text in self.texts().items():
            if text == self.shipped[side]:
                continue
            before, now = records(self.shipped[side]), records(text)
            for place in sorted(now.keys() | before.keys()):
                if now.get(place) != before.get(place):
                    table, key = place
                    found.setdefault(side, {}).setdefault(table, {})[key] = now.get(place, "(removed)")
        return found

    def state(self):
        state = {"changed": self.changed()}
        asserted = (self.record.get("evaluation_criteria") or {}).get("env_assertions") or []
        if asserted:
            state["assertions"] = {}
            for number, each in enumerate(asserted, 1):
                store = self.stores["user" if each["env_type"] == "user" else "agent"]
                holds = getattr(store, each["func_name"])(**each["arguments"]) == each.get("assert_value", True)
                state["assertions"][f"{number}_{each['func_name']}"] = holds
        return state


def records(text):
    """Every record of some data, by its table and its key; a list's are named by their first field."""
    found = {}
    for table, rows in json.loads(text).items():
        if isinstance(rows, list):
            named = (row if isinstance(row, dict) else {} for row in rows)
            rows = {str(next(iter(row.values()), index)): rows[index] for index, row in enumerate(named)}
        elif not isinstance(rows, dict):
            rows = {"value": rows}
        found.update({(table, key): row for key, row in rows.items()})
    return found


def seeded(seed):
    """Ids that the tools make up are the same in every run with this seed."""
    chance = random.Random(seed)
    random.seed(seed)
    uuid.uuid4 = lambda: uuid.UUID(int=chance.getrandbits(128), version=4)


def main(domain, name):
    task, said = None, None
    # What a tool prints is for people.
    out, sys.stdout = sys.stdout, sys.stderr

    def send(**message):
        print(json.dumps(message), file=out, flush=True)

    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "start":
            seeded(message["seed"])
            task = Task(domain, name)
            send(type="tools", tools=task.listed())
        elif message["type"] == "call":
            result = task.call(message["by"], message["tool"], message["args"])
            state = task.state()
            if state != said:
                result["state"] = said = state
            send(type="result", id=message["id"], **result)
        elif message["type"] == "state":
            said = task.state()
            send(type="state", state=said)
        elif message["type"] == "end":
            return


if __name__ == "__main__":
    # A world lives for one case; looking through its data for garbage would take a quarter of its time.
    gc.disable()
    if len(sys.argv) != 3 or sys.argv[1] not in DOMAINS:
        raise SystemExit(f"usage: tau2_world.py {'|'.join(DOMAINS)} TASK")
    main(sys.argv[1], sys.argv[2])
