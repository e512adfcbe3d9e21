"""Times documents through the server beside the plain programs: `scripts/ocr-speed` calls it."""

import base64
import json
import os
import resource
import statistics
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

SERVER, TOKEN, FOLDER, PROCESS, ROUNDS = sys.argv[1], sys.argv[2], Path(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5])
DIGITAL = ["long-prose.pdf", "letter.pdf"]
TICKS = os.sysconf("SC_CLK_TCK")


def ask(path):
    """The answer, and how many seconds it took."""
    content = base64.b64encode(path.read_bytes()).decode()
    body = {"model": "local/ocr", "document": {"type": "base64", "content": content}}
    headers = {"authorization": f"Bearer {TOKEN}", "content-type": "application/json"}
    request = urllib.request.Request(f"{SERVER}/v2/ocr", json.dumps(body).encode(), headers)
    began = time.perf_counter()
    with urllib.request.urlopen(request) as answer:
        read = json.load(answer)
    return read, time.perf_counter() - began


def run(command, **more):
    """Seconds on the clock and of processor time that a program takes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more)
    wall = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def plain(path, pages):
    """The same by the plain program: seconds on the clock."""
    if path.name in DIGITAL:
        return run(["pdftotext", "-layout", path, "-"])[0]
    environment = {**os.environ, "OMP_THREAD_LIMIT": "1"}
    if path.suffix == ".pdf":
        work = path.with_suffix("")
        began = time.perf_counter()
        run(["pdftoppm", "-r", "200", "-gray", path, work])
        for page in sorted(path.parent.glob(f"{path.stem}-*.pgm")):
            run(["tesseract", page, "-"], env=environment)
        return time.perf_counter() - began
    return run(["tesseract", path, "-"], env=environment)[0]


class Watch(threading.Thread):
    """The largest memory of the server and of one worker with what it runs, in MiB, and the processor time that both take."""

    def __init__(self):
        super().__init__(daemon=True)
        self.server = self.worker = 0
        self.cpu = {}

    def run(self):
        while True:
            for stat in Path("/proc").glob("[0-9]*/stat"):
                try:
                    fields = stat.read_text().rsplit(")", 1)[1].split()
                except OSError:
                    continue
                own, parent, group = int(stat.parent.name), int(fields[1]), int(fields[2])
                memory = int(fields[21]) * os.sysconf("SC_PAGE_SIZE") / 2**20
                if own == PROCESS:
                    self.server = max(self.server, memory)
                elif parent == PROCESS or group in self.cpu:
                    self.worker = max(self.worker, memory)
                    self.cpu[group] = max(self.cpu.get(group, 0), (int(fields[11]) + int(fields[12])) / TICKS)
            time.sleep(0.02)


watch = Watch()
watch.start()
print(f"{'document':<22}{'pages':>6}{'here s':>9}{'pages/s':>9}{'p95 s':>8}{'plain s':>9}{'pages/s':>9}{'ratio':>7}")
for path in sorted(FOLDER.glob("*.*")):
    if path.suffix == ".json":
        continue
    rounds = ROUNDS * 8 if path.name == "letter.pdf" else ROUNDS
    took = []
    for _ in range(rounds):
        read, seconds = ask(path)
        took.append(seconds)
    pages = len(read["pages"])
    here = statistics.median(took)
    late = sorted(took)[max(0, round(len(took) * 0.95) - 1)]
    there = statistics.median(plain(path, pages) for _ in range(ROUNDS))
    print(
        f"{path.name:<22}{pages:>6}{here:>9.3f}{pages / here:>9.1f}{late:>8.3f}{there:>9.3f}{pages / there:>9.1f}{there / here:>7.2f}"
    )
print(f"memory: server at most {watch.server:.0f} MiB, a worker or its tesseract at most {watch.worker:.0f} MiB")
