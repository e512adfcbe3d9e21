"""Sends mutated documents to a server and watches how another caller fares: `scripts/ocr-mutants` calls it."""

import base64
import collections
import json
import multiprocessing
import os
import random
import sys
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SERVER, TOKEN, FOLDER = sys.argv[1], sys.argv[2], Path(sys.argv[3])
PROCESS, SEED, COUNT, BARS = int(sys.argv[4]), int(sys.argv[5]), int(sys.argv[6]), sys.argv[7]
AT_ONCE = 4
LIMIT_SECONDS = 70
CALM_SECONDS = 5
# Larger ones are cut to this, so that a campaign is not a copying of megabytes.
MOST_BYTES = 512 * 1024


def post(path, body):
    """Status, slug and seconds of an answer; status 0 is none."""
    headers = {"authorization": f"Bearer {TOKEN}", "content-type": "application/json"}
    request = urllib.request.Request(f"{SERVER}{path}", json.dumps(body).encode(), headers)
    began = time.perf_counter()
    try:
        with urllib.request.urlopen(request, timeout=LIMIT_SECONDS) as answer:
            answer.read()
            return answer.status, "", time.perf_counter() - began
    except urllib.error.HTTPError as refused:
        told = refused.read()
        try:
            detail = json.loads(told)["detail"]
            slug = detail[0]["type"] if isinstance(detail, list) else str(detail)[:40]
        except (ValueError, KeyError, TypeError):
            slug = "no error of ours"
        return refused.code, slug, time.perf_counter() - began
    except OSError as gone:
        return 0, str(gone), time.perf_counter() - began


def mutant(content, chance):
    """A copy with some bytes flipped, cut out, repeated or taken from elsewhere."""
    made = bytearray(content)
    for _ in range(chance.choice([1, 1, 2, 4, 16, 64])):
        if not made:
            break
        at = chance.randrange(len(made))
        length = chance.choice([1, 1, 2, 4, 16, 256])
        match chance.randrange(5):
            case 0:
                made[at] ^= 1 << chance.randrange(8)
            case 1:
                made[at] = chance.choice([0, 0xFF, 0x20, 0x30, 0x39, chance.randrange(256)])
            case 2:
                del made[at : at + length]
            case 3:
                made[at:at] = made[at : at + length]
            case 4:
                other = chance.randrange(len(made))
                made[at : at + length] = made[other : other + length]
    if chance.random() < 0.05:
        del made[chance.randrange(len(made) + 1) :]
    return bytes(made)


def call(calls):
    """Somebody else, in a process of their own: calls a plain operation again and again and tells how each call went."""
    body = {"query": "a", "documents": [{"text": "a"}], "model": "offline/rerank"}
    while True:
        status, _, seconds = post("/v2/rerank", body)
        calls.put((status, seconds))
        time.sleep(0.02)


def heard(calls):
    """The p95 of the calls since this was last asked, and how many of them failed."""
    told = []
    while not calls.empty():
        told.append(calls.get())
    took = sorted(seconds for _, seconds in told)
    return took[max(0, round(len(took) * 0.95) - 1)], sum(status != 200 for status, _ in told)


def main():
    calls = multiprocessing.Queue()
    multiprocessing.Process(target=call, args=(calls,), daemon=True).start()
    time.sleep(CALM_SECONDS)
    calm, failed_before = heard(calls)
    # Making mutants is no part of what is measured: it leaves the processors to the server.
    os.nice(10)
    fixtures = [path for path in sorted(FOLDER.glob("*.*")) if path.suffix != ".json" and path.stat().st_size]
    counts, bad, slowest = collections.Counter(), [], (0.0, "")
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for number, path in enumerate(fixtures, 1):
            content = path.read_bytes()[:MOST_BYTES]
            chance = random.Random(f"{SEED} {path.name}")

            def ask(_):
                made = mutant(content, chance)
                document = {"type": "base64", "content": base64.b64encode(made).decode()}
                return made, post("/v2/ocr", {"model": "local/ocr", "document": document, "pages": [0]})

            for made, (status, slug, seconds) in pool.map(ask, range(COUNT)):
                counts[f"{status} {slug}".strip()] += 1
                slowest = max(slowest, (seconds, path.name))
                if status == 0 or (status >= 500 and status != 504):
                    bad.append((path.name, status, slug))
                    Path(f"mutant-{len(bad)}-{path.name}").write_bytes(made)
            if sys.stderr.isatty():
                print(f"\r{number}/{len(fixtures)} {path.name:<40}", end="", file=sys.stderr, flush=True)
    pressed, failed = heard(calls)
    failed += failed_before
    alive = Path(f"/proc/{PROCESS}").exists()
    memory = next((line.split()[1] for line in Path(f"/proc/{PROCESS}/status").read_text().splitlines() if line.startswith("VmHWM")), 0) if alive else 0
    print()
    for what, count in counts.most_common():
        print(f"{count:>8}  {what}")
    print(f"{sum(counts.values())} mutants of {len(fixtures)} documents, slowest {slowest[0]:.1f} s ({slowest[1]})")
    print(f"another caller: p95 {calm * 1000:.1f} ms before, {pressed * 1000:.1f} ms meanwhile, {failed} failed")
    print(f"server: {'alive' if alive else 'GONE'}, at most {int(memory) // 1024} MiB")
    for name, status, slug in bad[:20]:
        print(f"BAD {name}: {status} {slug}")
    missed = [
        what
        for what, is_missed in [
            ("no answer or a 5xx", bad),
            ("the server is gone", not alive),
            ("another caller failed", failed),
            ("another caller's p95 is more than doubled", BARS == "all" and pressed > 2 * max(calm, 0.005)),
        ]
        if is_missed
    ]
    print("\n".join(f"missed: {what}" for what in missed))
    print(f"{4 - len(missed)} passed, {len(missed)} failed")
    sys.exit(bool(missed))


main()
