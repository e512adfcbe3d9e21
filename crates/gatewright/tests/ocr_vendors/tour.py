#!/usr/bin/env python3
"""Tours a gateway in front of peers that answer as Mistral's OCR and docling-serve do: tour.py GATEWRIGHT-BINARY.

What the gateway sends is judged by the vendors' own request classes, what it is answered is made and checked by their own
response classes. Prints a line per step, and fails if one does.
"""

import base64
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

sys.path.insert(0, os.path.dirname(__file__))
import docling_peer
import mistral_peer
from docling_peer import Docling
from mistral_peer import Mistral
from peers import Files

TOKEN = "ocr-vendors-0123456789abcdef"
DEADLINE = 8.0
PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
rows, failed = [], 0


def pdf(count):
    """A document of so many pages, each with its number on it."""
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", None, "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    kids = []
    for page in range(count):
        text = f"BT /F1 24 Tf 72 700 Td (Page {page}) Tj ET"
        kids.append(f"{len(objects) + 1} 0 R")
        contents = len(objects) + 2
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> /Contents {contents} 0 R >>"
        )
        objects.append(f"<< /Length {len(text)} >>\nstream\n{text}\nendstream")
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {count} >>"
    body, places = "%PDF-1.7\n", []
    for number, told in enumerate(objects, 1):
        places.append(len(body))
        body += f"{number} 0 obj\n{told}\nendobj\n"
    start = len(body)
    body += f"xref\n0 {len(places) + 1}\n0000000000 65535 f \n" + "".join(f"{place:010} 00000 n \n" for place in places)
    return (body + f"trailer\n<< /Size {len(places) + 1} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n").encode()


PDF = pdf(6)
LONG = pdf(40)
files = Files(PDF)

mistral = {
    "mistral": Mistral(),
    "mistral-old": Mistral(knows_blocks=False),
    "mistral-url": Mistral(),
    "mistral-key": Mistral(),
    "mistral-401": Mistral(always="401"),
    "mistral-429": Mistral(always="429 30"),
    "mistral-503": Mistral(faults=["503", "503"]),
    "mistral-down": Mistral(always="503"),
    "mistral-cut": Mistral(always="cut"),
    "mistral-json": Mistral(always="json"),
    "mistral-hang": Mistral(always="hang"),
}
key = "docling-key-0123456789"
docling = {
    "docling": Docling(takes=1.5, key=key),
    "docling-old": Docling(marks=False, waits=False, takes=0.6),
    "docling-long": Docling(pages=40),
    "docling-url": Docling(),
    "docling-key": Docling(key="another"),
    "docling-partial": Docling(ends="partial_success"),
    "docling-none": Docling(ends="none"),
    "docling-failure": Docling(ends="failure", takes=0.3),
    "docling-refusal": Docling(ends="failure_result"),
    "docling-lost": Docling(ends="lost", takes=0.3),
    "docling-504": Docling(takes=0.5, poll_faults=["504"]),
    "docling-401": Docling(always="401"),
    "docling-429": Docling(always="429 30"),
    "docling-503": Docling(faults=["503", "503"]),
    "docling-cut": Docling(always="cut"),
    "docling-json": Docling(result={"document": 7}),
    "docling-hang": Docling(always="hang"),
    "docling-slow": Docling(takes=60),
    "docling-leave": Docling(takes=4),
}
mine = Docling()


def config(folder):
    prices = pathlib.Path(folder, "prices.toml")
    # What the book says of a provider does not hold at another address.
    costs = {"latest": 0.004, "4-0": 0.004, "2512": 0.002}
    prices.write_text("".join(f'[models."mistral/mistral-ocr-{name}"]\nper_page = {cost}\n' for name, cost in costs.items()))
    lines = [
        "[prices]", f'file = "{prices}"', "[store]", f'data_dir = "{folder}/data"', "[ocr]", f"timeout_seconds = {DEADLINE}", "workers = 2",
        "[egress]", f'allow = ["{mine.origin.split("//")[1]}"]', f'allow_documents = ["{files.origin.split("//")[1]}"]',
    ]
    for name, peer in [*mistral.items(), *docling.items()]:
        dialect = name.split("-")[0]
        base = f"{peer.origin}/v1" if dialect == "mistral" else peer.origin
        lines += [f"[providers.{name}]", f'api_base = "{base}"', f'protocol = "{dialect}"']
        lines += [f'api_key_file = "{folder}/{"wrong" if name == "mistral-key" else dialect}.key"']
        lines += ["pass_url = true"] if name.endswith("-url") else []
    path = pathlib.Path(folder, "gatewright.toml")
    path.write_text("\n".join(lines) + "\n")
    pathlib.Path(folder, "mistral.key").write_text(mistral_peer.KEY)
    pathlib.Path(folder, "wrong.key").write_text("mistral-key-that-is-wrong")
    pathlib.Path(folder, "docling.key").write_text(key)
    return path


def start(binary, folder):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"127.0.0.1:{port}"
    environment = {**os.environ, "GATEWRIGHT_BOOTSTRAP_TOKENS": f"tour:{TOKEN}"}
    log = open(f"{folder}/server.log", "wb")
    command = [binary, "serve", "--config", str(config(folder)), "--listen", address]
    server = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    for _ in range(300):
        try:
            urllib.request.urlopen(f"http://{address}/readyz", timeout=1)
            return server, f"http://{address}/v2"
        except OSError:
            if server.poll() is not None:
                break
            time.sleep(0.1)
    sys.exit(f"the server did not start:\n{pathlib.Path(folder, 'server.log').read_text()[-2000:]}")


def request(method, path, body=None, timeout=60):
    data = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    asked = urllib.request.Request(URL + path, data, headers, method=method)
    try:
        with urllib.request.urlopen(asked, timeout=timeout) as answer:
            return answer.status, json.loads(answer.read() or b"null"), answer.headers
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read() or b"null"), error.headers


def read(model, content=PDF, timeout=60, url=None, **more):
    document = {"type": "base64", "content": base64.b64encode(content).decode(), "document_name": "port.pdf"}
    if url:
        document = {"type": "document_url", "document_url": url}
    return request("POST", "/ocr", {"model": model, "document": document, **more}, timeout)


def pages(model, **more):
    status, answer, headers = read(model, **more)
    assert status == 200, (status, answer)
    for page in answer["pages"]:
        size = page["dimensions"]
        for element in page["elements"]:
            box = element["bbox"]
            assert 0 <= box["l"] <= box["r"] <= size["width"] and 0 <= box["t"] <= box["b"] <= size["height"], element
            assert box["coord_origin"] == "TOPLEFT"
        named = {image["id"] for image in page["images"]}
        for name in named:
            assert f"![{name}]({name})" in page["markdown"], (name, page["markdown"])
    assert answer["usage_info"]["pages_processed"] == len(answer["pages"])
    return answer


def refused(model, status, words, **more):
    began = time.monotonic()
    got, answer, headers = read(model, **more)
    assert got == status and words in json.dumps(answer), (got, answer)
    return headers, time.monotonic() - began


def step(name):
    def run(action):
        global failed
        began = time.monotonic()
        try:
            said, result = action() or "", "ok"
        except Exception as error:  # every failure is a failed step
            failed += 1
            said, result = f"{type(error).__name__}: {error}", "FAILED"
        rows.append((result, name, time.monotonic() - began, said))
        print(f"{result:7} {name} ({rows[-1][2]:.1f} s) {said}", flush=True)

    return run


def close(left, right):
    return abs(left - right) < 1e-12


def labels(page):
    return [element["label"] for element in page["elements"]]


def of_type(page, kind):
    return [element for element in page["elements"] if element["type"] == kind]


def tour():
    @step("models: this machine's first, then the vendors' that are configured")
    def _():
        _, answer, _ = request("GET", "/ocr/models")
        told = {model["name"]: model for model in answer["data"]}
        assert answer["data"][0]["name"] == "local/ocr"
        assert told["mistral/mistral-ocr-latest"]["location"] == "eu" and told["mistral/mistral-ocr-2512"], told
        assert told["docling/docling-latest"]["cost_per_page"] == 0, told

    @step("Mistral: a document as it is: text, elements, table cells, cost")
    def _():
        answer = pages("mistral/mistral-ocr-latest")
        assert [page["index"] for page in answer["pages"]] == [0, 1, 2, 3, 4, 5]
        first = answer["pages"][0]
        assert close(answer["cost"]["total"], 6 * 0.004), answer["cost"]
        assert labels(first) == ["title", "text", "table"] and labels(answer["pages"][1])[0] == "section_header", labels(first)
        cells = of_type(first, "table")[0]["data"]
        assert (cells["num_rows"], cells["num_cols"], len(cells["table_cells"])) == (2, 3, 6), cells
        assert answer["pages"][0]["dimensions"] == {"dpi": 200, "height": 2200, "width": 1700}
        sent = json.loads(mistral["mistral"].last()["body"])
        assert set(sent) == {"model", "document", "include_blocks"} and sent["document"]["document_name"] == "port.pdf", sent
        return f"cost {answer['cost']}"

    @step("Mistral: pages, picture limit and size, picture bytes are the caller's")
    def _():
        answer = pages("mistral/mistral-ocr-4-0", pages=[1, 0, 1], image_limit=1, include_image_base64=True, image_min_size=50)
        sent = json.loads(mistral["mistral"].last()["body"])
        assert sent["pages"] == [0, 1] and "image_limit" not in sent and sent["image_min_size"] == 50, sent
        assert [page["index"] for page in answer["pages"]] == [0, 1]
        images = answer["pages"][1]["images"]
        assert [image["id"] for image in images] == ["img-0.jpeg"], images
        assert images[0]["image_base64"] == mistral_peer.JPEG
        assert "img-1" not in answer["pages"][1]["markdown"]
        _, answer, _ = read("mistral/mistral-ocr-4-0", pages=[1])
        assert all(image["image_base64"] is None for image in answer["pages"][0]["images"])

    @step("Mistral: tables in HTML with their spans, tables in Markdown, in place of their links")
    def _():
        for spelling in ("mistral_extra", "vendorA_extra"):
            page = pages("mistral/mistral-ocr-latest", pages=[0], **{spelling: {"table_format": "html"}})["pages"][0]
            assert mistral_peer.HTML in page["markdown"] and "tbl-0" not in page["markdown"]
            data = of_type(page, "table")[0]["data"]
            berth = data["table_cells"][0]
            assert (data["num_rows"], data["num_cols"]) == (3, 3) and berth["row_span"] == 2 and berth["column_header"], data
        page = pages("mistral/mistral-ocr-latest", pages=[0], mistral_extra={"table_format": "markdown"})["pages"][0]
        assert mistral_peer.PIPES in page["markdown"] and "tbl-0" not in page["markdown"]

    @step("Mistral: header, footer, confidence, annotations by a bare schema and by a framed one")
    def _():
        schema = {"type": "object", "properties": {"berths": {"type": "array", "items": {"type": "string"}}}}
        framed = {"type": "json_schema", "json_schema": {"name": "figure", "schema": {"type": "object"}, "strict": False}}
        extra = {
            "extract_header": True, "extract_footer": True, "confidence_scores_granularity": "block",
            "document_annotation_format": schema, "document_annotation_prompt": "Which berths?", "bbox_annotation_format": framed,
        }
        answer = pages("mistral/mistral-ocr-latest", pages=[1], mistral_extra=extra)
        page = answer["pages"][0]
        assert labels(page)[0] == "page_header" and labels(page)[-1] == "page_footer", labels(page)
        assert of_type(page, "picture")[0]["data"] == {"image_id": "img-0.jpeg", "annotation": {"kind": "crane"}}
        assert page["elements"][1]["data"]["confidence"] == 0.875
        applied = answer["usage_info"]["applied_settings"]
        assert applied["document_annotation"] == {"berths": ["B-03"]} and applied["extract_header"] is True, applied

    @step("Mistral: a picture goes out as a picture")
    def _():
        pages("mistral/mistral-ocr-latest", content=PNG, pages=[0])
        sent = json.loads(mistral["mistral"].last()["body"])
        assert sent["document"]["type"] == "image_url", sent["document"]["type"]

    @step("Mistral: a model that costs another price, and the span without the document")
    def _():
        status, answer, headers = read("mistral/mistral-ocr-2512", pages=[0, 2])
        assert status == 200 and close(answer["cost"]["total"], 2 * 0.002), answer["cost"]
        assert close(pages("mistral/mistral-ocr-latest", pages=[0])["cost"]["total"], 0.004)
        _, span, _ = request("GET", f"/spans/{headers['x-span-id']}")
        assert span["type"] == "ocr" and base64.b64encode(PDF[:60]).decode()[:70] not in json.dumps(span), span["type"]
        return f"{answer['cost']}"

    @step("Mistral: an address is fetched here, or handed over where the operator says so")
    def _():
        url = f"{files.origin}/port.pdf"
        pages("mistral/mistral-ocr-latest", url=url)
        sent = json.loads(mistral["mistral"].last()["body"])["document"]
        assert sent["document_url"].startswith("data:application/pdf;base64,") and sent["document_name"] == "port.pdf", sent
        pages("mistral-url/mistral-ocr-latest", url=url)
        sent = json.loads(mistral["mistral-url"].last()["body"])["document"]
        assert sent["document_url"] == url, sent

    @step("Mistral: a host without blocks is asked once more without them")
    def _():
        page = pages("mistral-old/mistral-ocr-2512", pages=[0])["pages"][0]
        assert labels(page) == ["title", "text", "table"], labels(page)
        assert len(mistral["mistral-old"].requests) == 2

    @step("Mistral: what it refuses is told with its place; a model that it does not know")
    def _():
        refused("mistral/mistral-ocr-latest", 400, "confidence_scores_granularity", mistral_extra={"confidence_scores_granularity": "letter"})
        refused("mistral/mistral-ocr-latest", 400, "no_such_setting", mistral_extra={"no_such_setting": 1})
        status, answer, _ = read("mistral/mistral-ocr-0")
        assert status >= 400 and "Invalid model" in json.dumps(answer), (status, answer)
        return f"unknown model: {status}"

    @step("Mistral: wrong key, 401, 429 with its wait, 503 for good, 503 twice")
    def _():
        refused("mistral-key/mistral-ocr-latest", 502, "provider_auth")
        refused("mistral-401/mistral-ocr-latest", 502, "provider_auth")
        headers, _ = refused("mistral-429/mistral-ocr-latest", 429, "429")
        assert headers["retry-after"] == "30", headers["retry-after"]
        refused("mistral-down/mistral-ocr-latest", 502, "503")
        pages("mistral-503/mistral-ocr-latest")
        assert len(mistral["mistral-503"].requests) == 3

    @step("Mistral: an answer that is cut, of another kind, or that never comes")
    def _():
        refused("mistral-cut/mistral-ocr-latest", 502, "broke off")
        refused("mistral-json/mistral-ocr-latest", 502, "no pages")
        _, took = refused("mistral-hang/mistral-ocr-latest", 504, "")
        assert took < DEADLINE + 2, took
        return f"given up after {took:.1f} s"

    @step("Docling: a document as it is, by a slow task: pages, a list over a break, a blank page, cells, boxes")
    def _():
        answer = pages("docling/docling-latest")
        peer = docling["docling"]
        assert [page["index"] for page in answer["pages"]] == [0, 1, 2, 3, 4, 5]
        texts = [page["markdown"] for page in answer["pages"]]
        assert texts[0].startswith("# Port of Ardel\n\n## Berths") and texts[0].endswith("1. B-03"), texts[0]
        assert texts[1] == "2. B-04" and texts[3] == "" and "| Berth" in texts[2], texts
        assert "page-break-" not in "".join(texts)
        assert labels(answer["pages"][0]) == ["page_header", "title", "section_header", "list_item"]
        cells = of_type(answer["pages"][2], "table")[0]["data"]
        assert (cells["num_rows"], cells["num_cols"]) == (3, 3) and cells["table_cells"][0]["row_span"] == 2, cells
        title = answer["pages"][0]["elements"][1]["bbox"]
        assert title == {"l": 144, "t": 104, "r": 600, "b": 184, "coord_origin": "TOPLEFT"}, title
        assert answer["pages"][0]["dimensions"] == {"dpi": 144, "height": 1584, "width": 1224}
        assert labels(answer["pages"][5]) == ["page_header", "code", "formula", "checkbox_selected"]
        assert answer["cost"]["total"] == 0
        polls = [it for it in peer.requests if "/poll/" in it["path"]]
        return f"{len(polls)} polls"

    @step("Docling: pages that are near in one task, pages that are far in several")
    def _():
        peer = docling["docling"]
        for wanted, ranges in [([0, 1, 3], [[1, 4]]), ([4], [[5, 5]]), ([0, 5], [[1, 6]])]:
            peer.forget()
            answer = pages("docling/docling-latest", pages=wanted)
            assert [page["index"] for page in answer["pages"]] == wanted
            sent = [json.loads(it["body"])["options"]["page_range"] for it in peer.requests if it["method"] == "POST"]
            assert sent == ranges, sent
        answer = pages("docling-long/docling-latest", content=LONG, pages=[0, 4, 38, 39])
        sent = [json.loads(it["body"])["options"]["page_range"] for it in docling["docling-long"].requests if it["method"] == "POST"]
        assert sent == [[1, 5], [39, 40]] and [page["index"] for page in answer["pages"]] == [0, 4, 38, 39], sent
        assert answer["pages"][3]["markdown"] == "Page 40." and answer["pages"][1]["images"][0]["id"] == "img-0.png", answer

    @step("Docling: pictures, with and without their bytes, small ones left out")
    def _():
        answer = pages("docling/docling-latest", pages=[4], include_image_base64=True)
        images = answer["pages"][0]["images"]
        assert [image["id"] for image in images] == ["img-0.png", "img-1.png"] and images[0]["image_base64"] == docling_peer.PNG
        assert images[0]["top_left_x"] == 144 and images[0]["top_left_y"] == 384, images[0]
        answer = pages("docling/docling-latest", pages=[4], image_min_size=50)
        images = answer["pages"][0]["images"]
        assert [image["id"] for image in images] == ["img-0.png"] and images[0]["image_base64"] is None, images
        options = json.loads([it for it in docling["docling"].requests if it["method"] == "POST"][-1]["body"])["options"]
        assert options["image_export_mode"] == "placeholder" and options["include_images"] is False, options

    @step("Docling: settings in either spelling reach it; what the answer is read by is not the caller's")
    def _():
        for spelling in ("docling_extra", "vendorB_extra"):
            given = {"table_mode": "fast", "ocr_engine": "rapidocr", "force_ocr": True, "do_formula_enrichment": True, "images_scale": 1.0}
            given |= {"page_range": [9, 9], "to_formats": ["text"]}
            answer = pages("docling/docling-latest", pages=[0], **{spelling: given})
            options = json.loads([it for it in docling["docling"].requests if it["method"] == "POST"][-1]["body"])["options"]
            assert (options["table_mode"], options["ocr_engine"], options["force_ocr"]) == ("fast", "rapidocr", True), options
            assert options["page_range"] == [1, 1] and options["to_formats"] == ["md", "json"], options
            assert answer["pages"][0]["dimensions"]["dpi"] == 72
            assert answer["usage_info"]["applied_settings"]["table_mode"] == "fast"
        assert options["document_timeout"] < DEADLINE, options
        refused("docling/docling-latest", 400, "table_mode", docling_extra={"table_mode": "slow"})

    @step("Docling: text, HTML and DocTags page by page; a form that there is not")
    def _():
        told = {}
        for form in ("text", "html", "doctags", "json"):
            answer = pages("docling/docling-latest", pages=[0, 1], docling_extra={"output_format": form})
            told[form] = [page["markdown"] for page in answer["pages"]]
        assert told["text"][1] == "2. B-04" and told["html"][1] == "<ol>\n<li>B-04</li>\n</ol>", told
        assert told["doctags"][1].startswith("<doctag>") and "B-04" in told["doctags"][1] and "B-03" not in told["doctags"][1], told
        assert told["doctags"][1].count("<ordered_list>") == told["doctags"][1].count("</ordered_list>") == 1, told
        assert told["json"][0].startswith("# Port of Ardel")
        refused("docling/docling-latest", 400, "output_format", docling_extra={"output_format": "pdf"})

    @step("Docling: an older server, without marks and without patience")
    def _():
        answer = pages("docling-old/docling-latest", include_image_base64=True)
        texts = [page["markdown"] for page in answer["pages"]]
        assert texts[1] == "2. B-04" and texts[3] == "" and texts[4].startswith("![img-0.png](img-0.png)"), texts
        polls = [it for it in docling["docling-old"].requests if "/poll/" in it["path"]]
        assert len(polls) < 8, len(polls)
        return f"{len(polls)} polls"

    @step("Docling: an address is handed over where the operator says so")
    def _():
        url = f"{files.origin}/port.pdf"
        pages("docling-url/docling-latest", url=url)
        sent = json.loads(docling["docling-url"].requests[0]["body"])["sources"]
        assert sent == [{"kind": "http", "url": url}], sent

    @step("Docling: a part of the pages, or none of them")
    def _():
        answer = pages("docling-partial/docling-latest")
        assert [page["index"] for page in answer["pages"]] == [0, 2, 4]
        errors = answer["usage_info"]["applied_settings"]["errors"]
        assert errors[0] == {"page": 1, "message": "Page 2 failed to convert."}, errors
        refused("docling-none/docling-latest", 502, "Page 1 failed to convert.")

    @step("Docling: tasks that fail, are refused, or are lost; a 504 while a task goes on")
    def _():
        refused("docling-failure/docling-latest", 502, "The task was given up.")
        refused("docling-refusal/docling-latest", 400, "That engine is not allowed here.")
        refused("docling-lost/docling-latest", 502, "does not know the task any more")
        pages("docling-504/docling-latest")
        assert len([it for it in docling["docling-504"].requests if it["method"] == "POST"]) == 1

    @step("Docling: wrong key, 401, 429 with its wait, 503 twice")
    def _():
        refused("docling-key/docling-latest", 502, "provider_auth")
        refused("docling-401/docling-latest", 502, "provider_auth")
        headers, _ = refused("docling-429/docling-latest", 429, "429")
        assert headers["retry-after"] == "30", headers["retry-after"]
        pages("docling-503/docling-latest")

    @step("Docling: an answer that is cut, of another kind, or that never comes; a task that takes too long")
    def _():
        refused("docling-cut/docling-latest", 502, "broke off")
        refused("docling-json/docling-latest", 502, "docling-serve")
        took = [refused(f"docling-{name}/docling-latest", 504, "")[1] for name in ("hang", "slow")]
        assert max(took) < DEADLINE + 2, took
        return f"given up after {took[0]:.1f} and {took[1]:.1f} s"

    @step("Docling: a caller who leaves is followed by no further question")
    def _():
        peer = docling["docling-leave"]
        try:
            read("docling-leave/docling-latest", timeout=1)
            raise AssertionError("it answered")
        except TimeoutError:
            pass
        time.sleep(1)
        before = len(peer.requests)
        time.sleep(5)
        assert len(peer.requests) == before and not any("/result/" in it["path"] for it in peer.requests), before
        return f"{before} requests"

    @step("Docling: a project's own server, where the operator lets it be reached, and only there")
    def _():
        for name, peer in [("mine", mine), ("theirs", docling["docling-old"])]:
            extra = {"api_base": peer.origin, "protocol": "docling", "ocr": True, "cost_per_page": 0.001}
            body = {"name": name, "identifier": f"docling/{name}", "api_key": "my-own-key-01234", "extra": extra}
            status, answer, _ = request("POST", "/models/custom", body)
            assert status == 200, (status, answer)
        answer = pages("mine", pages=[0, 1])
        assert close(answer["cost"]["total"], 0.002), answer["cost"]
        sent = {name.lower(): value for name, value in mine.requests[0]["headers"].items()}
        assert sent["x-api-key"] == "my-own-key-01234"
        refused("theirs", 400, "not allowed")

    @step("no peer broke, and none was asked for what it does not know")
    def _():
        broken = [(name, it) for name, peer in [*mistral.items(), *docling.items()] for it in peer.refused if it[0] == 418]
        assert not broken, broken


with tempfile.TemporaryDirectory() as folder:
    server, URL = start(sys.argv[1], folder)
    try:
        tour()
        if failed:
            print(pathlib.Path(folder, "server.log").read_text()[-3000:], file=sys.stderr)
    finally:
        server.terminate()
        server.wait(timeout=30)

passed = sum(1 for row in rows if row[0] == "ok")
print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed or not rows else 0)
