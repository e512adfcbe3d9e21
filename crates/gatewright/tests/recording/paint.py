"""Shows a structured stream, which `curl -N` pipes in: as a table of what came, or as fields that fill in place.

Usage: paint.py table|live
"""

import json
import shutil
import sys
import time

# A model that answers at once would leave nothing to see.
PACE_SECONDS = 0.06
BOLD, DIM, RED, PLAIN, CLEAR = "\033[1m", "\033[2m", "\033[31m", "\033[0m", "\033[K"


def events(lines):
    """The events of a stream: id, name (empty for a chunk) and payload. Says what else came, and ends the program."""
    event, other = {}, ""
    for line in lines:
        name, colon, value = line.rstrip("\n").partition(": ")
        if name in ("id", "event", "data") and colon:
            event[name] = value
        elif not line.strip() and "data" in event:
            yield event.get("id", ""), event.get("event", ""), json.loads(event["data"])
            event = {}
        elif line.strip() and not line.startswith(":"):
            other += line
    if other:
        sys.exit(f"this is no stream: {other.strip():.2000}")


def shown(value):
    """A value as a person reads it."""
    return value if isinstance(value, str) else json.dumps(value)


def closing(payload):
    """What the closing event says. Its ids differ from run to run and are left out."""
    usage, cost = payload["usage"], payload["cost"]["total"]
    tokens = f"{usage['input_tokens']} + {usage['output_tokens']} tokens"
    return f"{payload['finish_reason']}, {tokens}, {cost:g} USD"


def table(stream):
    """One line for each event: its id, the path, the piece, and what stands there by then."""
    print(f"{'id':>3}  {'json_path':<15} {'delta':<12} so far")
    fields = {}
    for number, name, payload in stream:
        if name == "done":
            print(f"{number:>3}  {'event: done':<15} {closing(payload)}")
            return True
        if name == "error":
            print(f"{number:>3}  {'event: error':<15} {payload['error_type']}: {payload['error_message']}")
            return False
        path, delta = payload["json_path"], payload["delta"]
        fields[path] = fields.get(path, "") + shown(delta)
        print(f"{number:>3}  {path:<15} {json.dumps(delta, ensure_ascii=False):<12} {fields[path]}".rstrip())
    return False


def live(stream):
    """The fields, each on its line, painted anew with every event."""
    fields, painted = {}, 0

    def paint(growing, last_line=""):
        nonlocal painted
        width = max([len(path) for path in fields], default=0)
        room = max(shutil.get_terminal_size().columns - width - 6, 10)
        out = [f"\033[{painted}F" if painted else ""]
        for path, value in fields.items():
            # A long value shows its end, where it grows.
            text = value.replace("\n", " ")
            text = text if len(text) <= room else "…" + text[1 - room:]
            mark = "▌" if path == growing else ""
            out.append(f"  {DIM}{path:<{width}}{PLAIN}  {BOLD}{text}{PLAIN}{mark}{CLEAR}\n")
        print("".join(out) + last_line, end="", flush=True)
        painted = len(fields)

    for _, name, payload in stream:
        if name == "done":
            paint(None, f"\n  {DIM}{closing(payload)}{PLAIN}\n")
            return True
        if name == "error":
            paint(None, f"\n  {RED}{payload['error_type']}: {payload['error_message']}{PLAIN}\n")
            return False
        path = payload["json_path"]
        fields[path] = fields.get(path, "") + shown(payload["delta"])
        paint(path)
        time.sleep(PACE_SECONDS)
    return False


if len(sys.argv) != 2 or sys.argv[1] not in ("table", "live"):
    sys.exit(__doc__.strip())
has_ended = {"table": table, "live": live}[sys.argv[1]](events(sys.stdin))
# A stream without a closing event was cut.
sys.exit(0 if has_ended else "the stream did not end in order")
