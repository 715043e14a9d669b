"""tau-bench as a world of `pawl torture`: python3 tau-bench.py DIRECTORY airline|retail

DIRECTORY is a checkout of tau-bench, with what it needs installed. A task's actions are its gold trajectory, and the
judge is its database. What the simulated person would say is left out: the whole instruction is the prompt.
"""

import hashlib
import importlib
import json
import sys

directory, domain = sys.argv[1:3]
sys.path.insert(0, directory)
part = lambda name: importlib.import_module(f"tau_bench.envs.{domain}.{name}")
tools = {tool.get_info()["function"]["name"]: tool for tool in part("tools").ALL_TOOLS}
begun = json.dumps(part("data").load_data())
# They change nothing, and end the talk.
left_out = {"respond", "transfer_to_human_agents", "think"}


def call(data, name, given):
    if name not in tools:
        return {"ok": False, "error": f"there is no tool {name}"}
    try:
        result = str(tools[name].invoke(data=data, **given))
    except Exception as error:
        result = f"Error: {error}"
    return {"ok": False, "error": result} if result.startswith("Error") else {"ok": True, "result": result}


def task(at, one):
    data, rounds = json.loads(begun), []
    for action in one.actions:
        made = {"name": action.name, "input": action.kwargs}
        if action.name in left_out or [made] in rounds:
            continue
        if call(data, action.name, action.kwargs)["ok"]:
            rounds.append([made])
    answer = ", ".join(["Done", *one.outputs])
    return {"id": f"{domain}-{at:03}", "prompt": one.instruction, "rounds": rounds, "answer": answer}


def tool(name, about):
    return {"name": name, "description": about["description"], "inputSchema": about["parameters"]}


def world():
    of_test = vars(part("tasks_test"))
    tasks = [task(at, one) for at, one in enumerate(of_test.get("TASKS_TEST") or of_test["TASKS"])]
    shown = [tool(name, one.get_info()["function"]) for name, one in tools.items() if name not in left_out]
    # A task in which nothing is to be done is none for a loop.
    return {"name": domain, "instructions": part("wiki").WIKI, "tools": shown, "tasks": [one for one in tasks if one["rounds"]]}


databases = {}
for line in sys.stdin:
    asked = json.loads(line)
    if "describe" in asked:
        answer = world()
    elif "begin" in asked:
        databases[asked["begin"]] = json.loads(begun)
        answer = {}
    elif "end" in asked:
        del databases[asked["end"]]
        answer = {}
    elif "hash" in asked:
        text = json.dumps(databases[asked["database"]], sort_keys=True)
        answer = {"hash": hashlib.sha256(text.encode()).hexdigest()}
    else:
        answer = call(databases[asked["database"]], asked["call"]["name"], asked["call"]["input"])
    print(json.dumps(answer), flush=True)
