"""Servers on this machine that answer as a vendor does: what they have in common."""

import http.server
import json
import threading
import time


class Refused(Exception):
    """An answer that is no success."""

    def __init__(self, status, body, headers=()):
        super().__init__(status)
        self.status, self.body, self.headers = status, body, dict(headers)


class Peer:
    """A server on a port of its own. `faults` are what it does before it answers, one a request; the rest are answered."""

    def __init__(self, faults=(), always=None):
        self.faults, self.always = list(faults), always
        self.requests, self.refused = [], []
        self.lock = threading.Lock()
        peer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def answer(self):
                length = int(self.headers.get("content-length") or 0)
                body = self.rfile.read(length)
                asked = {"method": self.command, "path": self.path, "headers": dict(self.headers.items()), "body": body}
                with peer.lock:
                    peer.requests.append(asked)
                    fault = peer.always or (peer.faults.pop(0) if peer.faults else None)
                try:
                    if fault and fault not in ("cut", "json"):
                        peer.fail(fault)
                    answer = peer.answer(asked)
                    status, headers = 200, {}
                except Refused as refused:
                    answer, status, headers = refused.body, refused.status, refused.headers
                    with peer.lock:
                        peer.refused.append((status, answer))
                except Exception as error:  # a peer that breaks is a failed step, whatever the gateway makes of it
                    answer, status, headers = {"detail": f"the peer broke: {error!r}"}, 418, {}
                    with peer.lock:
                        peer.refused.append((status, answer))
                text = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                if fault == "json" and status == 200:
                    text = b'{"object": "list", "data": []}'
                try:
                    self.send_response(status)
                    self.send_header("content-type", "application/json")
                    self.send_header("content-length", str(len(text)))
                    for name, value in headers.items():
                        self.send_header(name, value)
                    self.end_headers()
                    if fault == "cut" and status == 200:
                        self.wfile.write(text[: len(text) // 2])
                        self.wfile.flush()
                        self.close_connection = True
                        self.connection.shutdown(2)
                    else:
                        self.wfile.write(text)
                except OSError:
                    self.close_connection = True

            do_GET = do_POST = answer

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def origin(self):
        return f"http://127.0.0.1:{self.server.server_port}"

    def fail(self, fault):
        if fault == "hang":
            time.sleep(60)
        status, _, wait = str(fault).partition(" ")
        headers = {"retry-after": wait} if wait else {}
        raise Refused(int(status), self.fault_body(int(status)), headers)

    def fault_body(self, status):
        return {"detail": f"status {status}"}

    def answer(self, asked):
        raise NotImplementedError

    def last(self):
        return self.requests[-1]

    def forget(self):
        with self.lock:
            self.requests.clear()
            self.refused.clear()


class Files(Peer):
    """A host of documents."""

    def __init__(self, content):
        self.content = content
        super().__init__()

    def answer(self, asked):
        return self.content


def unknown(model, given):
    """The members of a body that its class does not know: the classes skip them in silence."""
    known = {field.alias or name for name, field in type(model).model_fields.items()}
    return sorted(set(given) - known)
