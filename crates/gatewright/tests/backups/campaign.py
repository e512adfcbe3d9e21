"""Takes backups of a server under load and restores them; tries disks that are full or read-only. `scripts/backup` calls it."""

import atexit
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

PROGRAM, PLACE, CAMPAIGN = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
TOKEN = "a-token-of-the-backup-campaign-0123456789"
HEADERS = {"authorization": f"Bearer {TOKEN}", "content-type": "application/json"}
INPUT = "What was said, and more of it. " * 60
# How many of the spans before a backup are compared, and as many of the older ones.
NEWEST = 300
# With a debug build on a busy machine.
START_SECONDS = 60


def run(*arguments, check=True):
    """A command with nothing of the environment around it."""
    done = subprocess.run([PROGRAM, *map(str, arguments)], env={}, cwd=PLACE, capture_output=True, text=True)
    if check and done.returncode != 0:
        sys.exit(f"error: {arguments} failed with {done.returncode}: {done.stderr}")
    return done


class Server:
    """A server on a data directory, on a free port."""

    def __init__(self, data_dir):
        environment = {"GATEWRIGHT_BOOTSTRAP_TOKENS": f"default:{TOKEN}", "GATEWRIGHT_OBSERVER__ENABLED": "false"}
        command = [PROGRAM, "serve", "--listen", "127.0.0.1:0", "--data-dir", str(data_dir)]
        self.process = subprocess.Popen(command, env=environment, cwd=PLACE, stderr=subprocess.PIPE, text=True)
        # A campaign that fails leaves nothing running, which would hold on to the output of whoever started it.
        atexit.register(self.process.kill)
        self.port = None
        told = []
        for line in self.process.stderr:
            told.append(line)
            found = re.search(r'"address":"http://127\.0\.0\.1:(\d+)"', line)
            if found:
                self.port = int(found[1])
                break
        if self.port is None:
            sys.exit(f"error: the server did not start: {''.join(told)}")
        threading.Thread(target=lambda: [None for _ in self.process.stderr], daemon=True).start()

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=START_SECONDS)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait()


def ask(connection, method, path, body=None):
    """Status, headers and text of an answer."""
    connection.request(method, path, json.dumps(body) if body is not None else None, HEADERS)
    answer = connection.getresponse()
    return answer.status, answer.headers, answer.read().decode()


class Load:
    """Callers that call until they are stopped, and note the span of each answer."""

    def __init__(self, server, function, callers):
        self.server, self.path = server, f"/v2/functions/{function}/call"
        self.answered, self.failed, self.is_over = [], [], False
        self.may_call = threading.Event()
        self.may_call.set()
        self.threads = [threading.Thread(target=self.call) for _ in range(callers)]
        for thread in self.threads:
            thread.start()

    def call(self):
        connection = self.server.connect()
        while not self.is_over:
            self.may_call.wait()
            status, headers, text = ask(connection, "POST", self.path, {"input": INPUT})
            if status == 200:
                self.answered.append(headers["x-span-id"])
            else:
                self.failed.append(f"{status}: {text[:200]}")

    def stop(self):
        self.is_over = True
        for thread in self.threads:
            thread.join()


def restored(number, file, origin, answered):
    """Restores a backup and says how many of the spans are not as they were."""
    data_dir = PLACE / f"restored-{number}"
    began = time.monotonic()
    run("restore", file, "--data-dir", data_dir)
    took = time.monotonic() - began
    server = Server(data_dir)
    there, here, lost = server.connect(), origin.connect(), 0
    for span in answered:
        was, now = (ask(it, "GET", f"/v2/spans/{span}") for it in (here, there))
        lost += (was[0], was[2]) != (now[0], now[2]) or now[0] != 200
    if server.stop() != 0:
        sys.exit("error: the server on the restored data did not stop in order")
    subprocess.run(["rm", "-rf", data_dir], check=True)
    return lost, took


def load(rounds, callers, seconds):
    data_dir = PLACE / "origin"
    server = Server(data_dir)
    body = {"name": "f", "instructions": "Say it again.", "model": "offline/echo"}
    status, _, text = ask(server.connect(), "POST", "/v2/functions", body)
    if status != 201:
        sys.exit(f"error: no function: {status} {text}")
    callers_at_work = Load(server, json.loads(text)["id"], callers)
    lost_in_all = 0
    print("round  spans before  size (MiB)  copy (s)  calls/s meanwhile  restore (s)  lost")
    for number in range(rounds):
        time.sleep(seconds)
        before = list(callers_at_work.answered)
        file = PLACE / f"backup-{number}"
        began = time.monotonic()
        run("backup", file, "--data-dir", data_dir)
        took = time.monotonic() - began
        rate = (len(callers_at_work.answered) - len(before)) / took
        # The newest, which are the ones at risk, and a sample of the older ones.
        older = before[:-NEWEST]
        asked = before[-NEWEST:] + older[:: len(older) // NEWEST + 1]
        callers_at_work.may_call.clear()
        lost, restoring = restored(number, file, server, asked)
        callers_at_work.may_call.set()
        lost_in_all += lost
        size = file.stat().st_size / 2**20
        print(f"{number + 1:5}  {len(before):12}  {size:10.1f}  {took:8.2f}  {rate:17.0f}  {restoring:11.2f}  {lost:4}", flush=True)
        file.unlink()
    callers_at_work.stop()
    if server.stop() != 0:
        sys.exit("error: the server did not stop in order")
    if callers_at_work.failed:
        sys.exit(f"error: {len(callers_at_work.failed)} calls failed, such as {callers_at_work.failed[0]}")
    print(f"{rounds} backups, {lost_in_all} spans lost")
    if lost_in_all:
        sys.exit(1)


def mounted(name, options):
    """A small disk in memory; it goes with the namespace that this runs in."""
    folder = PLACE / name
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"mode=700,{options}", "tmpfs", folder], check=True)
    return folder


def refused(what, words, left, *arguments):
    """Runs a command that must fail in words, and leave in a folder only what was there."""
    folder, names = left
    done = run(*arguments, check=False)
    found = sorted(os.listdir(folder))
    is_right = done.returncode == 1 and any(word in done.stderr for word in words) and found == names
    print(f"{'ok' if is_right else 'WRONG'}: {what}: {done.stderr.strip()}")
    if not is_right:
        sys.exit(f"error: exit code {done.returncode}, left {found}")


def disks():
    data_dir = PLACE / "small"
    server = Server(data_dir)
    connection = server.connect()
    body = {"name": "f", "instructions": "Say it again.", "model": "offline/echo"}
    function = json.loads(ask(connection, "POST", "/v2/functions", body)[2])["id"]
    for _ in range(60):
        # Noise: what repeats itself is kept packed, and fills nothing.
        ask(connection, "POST", f"/v2/functions/{function}/call", {"input": os.urandom(20_000).hex()})
    file = PLACE / "backup-small"
    run("backup", file, "--data-dir", data_dir)
    if file.stat().st_size < 2**20:
        sys.exit("error: the store is too small to fill a disk")
    full, fixed = mounted("full", "size=1m"), mounted("fixed", "size=1m")
    subprocess.run(["mount", "-o", "remount,ro", fixed], check=True)
    no_room, no_writing = ["full", "No space"], ["Read-only"]
    refused("a backup to a full disk", no_room, (full, []), "backup", full / "b", "--data-dir", data_dir)
    refused("a backup to a read-only disk", no_writing, (fixed, []), "backup", fixed / "b", "--data-dir", data_dir)
    (full / "b").write_text("an older one")
    old = (full, ["b"])
    refused("a backup over another one", no_room, old, "backup", full / "b", "--force", "--data-dir", data_dir)
    if (full / "b").read_text() != "an older one":
        sys.exit("error: the older backup is not as it was")
    (full / "b").unlink()
    left = (full, ["gatewright.lock"])
    refused("a restore to a full disk", no_room, left, "restore", file, "--data-dir", full)
    refused("a restore to a read-only disk", no_writing, (fixed, []), "restore", file, "--data-dir", fixed)
    for folder, word in [(full, "calls are refused below"), (fixed, "read-only")]:
        told = json.loads(run("doctor", "--json", "--data-dir", folder, check=False).stdout)
        space = [it for it in told["checks"] if it["check"] == "disk space"]
        if [it["verdict"] for it in space] != ["fail"] or word not in space[0]["found"]:
            sys.exit(f"error: doctor says {space}")
        print(f"ok: doctor on that disk: {space[0]['found']}")
    if ask(connection, "POST", f"/v2/functions/{function}/call", {"input": INPUT})[0] != 200:
        sys.exit("error: the server was disturbed")
    server.stop()


{"load": load, "disks": disks}[CAMPAIGN](*map(int, sys.argv[4:]))
