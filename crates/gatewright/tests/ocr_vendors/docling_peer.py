"""docling-serve without its models: what comes is read by the vendor's own request classes, and what is answered is made
with its document classes and serializers, and checked with its response classes."""

import base64
import json
import pathlib
import time
import urllib.parse
import uuid
import warnings

from docling.datamodel.service.requests import ConvertSourcesRequest
from docling.datamodel.service.responses import (
    ConvertDocumentResponse,
    ExportDocumentResponse,
    TaskFailureResult,
    TaskStatusResponse,
)
from docling_core.types.doc import BoundingBox, CoordOrigin, DocItemLabel, ImageRef, ImageRefMode, Size, TableCell, TableData
from docling_core.types.doc.document import ContentLayer, DoclingDocument, ProvenanceItem
from pydantic import ValidationError

from peers import Peer, Refused, unknown

warnings.simplefilter("ignore")
PAGES = 6
PNG = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


class Docling(Peer):
    """`takes` is how long a task takes; `ends` how it ends; `waits` whether the server waits when it is asked how a task
    stands; `marks` whether it puts marks between pages. `poll_faults` are for the questions alone."""

    def __init__(self, faults=(), always=None, key=None, takes=0.0, ends="success", waits=True, marks=True, poll_faults=(), result=None, pages=PAGES):
        self.key, self.takes, self.ends, self.waits, self.marks = key, takes, ends, waits, marks
        self.poll_faults, self.result, self.pages = list(poll_faults), result, pages
        self.tasks = {}
        super().__init__(faults, always)

    def answer(self, asked):
        headers = {name.lower(): value for name, value in asked["headers"].items()}
        if self.key and headers.get("x-api-key") != self.key:
            raise Refused(401, {"detail": None})
        url = urllib.parse.urlsplit(asked["path"])
        match url.path.split("/")[1:]:
            case ["v1", "convert", "source", "async"] if asked["method"] == "POST":
                return self.submit(json.loads(asked["body"]))
            case ["v1", "status", "poll", task]:
                query = urllib.parse.parse_qs(url.query)
                if self.poll_faults:
                    self.fail(self.poll_faults.pop(0))
                return self.poll(task, float(query.get("wait", ["0"])[0]))
            case ["v1", "result", task]:
                return self.fetch(task)
        raise Refused(404, {"detail": "Not Found"})

    def submit(self, given):
        try:
            request = ConvertSourcesRequest.model_validate(given)
        except ValidationError as error:
            detail = [{"loc": ["body", *it["loc"]], "msg": it["msg"], "type": it["type"]} for it in error.errors()]
            raise Refused(422, {"detail": detail}) from error
        for model, part in [(request, given), (request.options, given["options"]), (request.sources[0], given["sources"][0])]:
            assert not unknown(model, part), unknown(model, part)
        assert request.target.kind == "inbody", request.target
        assert len(request.sources) == 1
        source = request.sources[0]
        if source.kind == "file":
            content = base64.b64decode(source.base64_string, validate=True)
            ends = {b"%PDF-": ".pdf", b"\x89PNG\r": ".png"}[content[:5]]
            assert source.filename.endswith(ends), source.filename
        task = str(uuid.uuid4())
        self.tasks[task] = (request, time.monotonic())
        return self.status(task)

    def poll(self, task, wait):
        if task not in self.tasks or self.ends == "lost":
            raise Refused(404, {"detail": "Task not found."})
        until = time.monotonic() + (wait if self.waits else 0)
        while self.stands(task) in ("pending", "started") and time.monotonic() < until:
            time.sleep(0.05)
        return self.status(task)

    def stands(self, task):
        spent = time.monotonic() - self.tasks[task][1]
        if spent >= self.takes:
            return {"failure_result": "success", "none": "partial_success"}.get(self.ends, self.ends)
        return "pending" if spent < self.takes / 2 else "started"

    def status(self, task):
        stands = self.stands(task)
        meta = None if stands == "pending" else {"num_docs": 1, "num_processed": int(stands != "started")}
        told = {"task_id": task, "task_type": "convert", "task_status": stands, "task_meta": meta}
        if stands == "pending":
            told["task_position"] = 1
        if stands == "failure":
            told["error_message"] = "The task was given up."
        return json.loads(TaskStatusResponse.model_validate(told).model_dump_json())

    def fetch(self, task):
        if task not in self.tasks:
            raise Refused(404, {"detail": "Task not found."})
        if self.ends == "failure_result":
            failure = {"category": "policy", "message": "That engine is not allowed here.", "retryable": False, "phase": "admission"}
            return json.loads(TaskFailureResult.model_validate({"failure": failure}).model_dump_json())
        if self.result is not None:
            return self.result
        return self.convert(self.tasks[task][0])

    def convert(self, request):
        options = request.options
        first, last = options.page_range
        pages = [page for page in range(1, self.pages + 1) if first <= page <= last]
        errors, status = [], "success"
        if self.ends in ("partial_success", "none"):
            status = "partial_success"
            failed = [page for page in pages if self.ends == "none" or page % 2 == 0]
            pages = [page for page in pages if page not in failed]
            errors = [error(page) for page in failed]
        mode = options.image_export_mode if options.include_images else ImageRefMode.PLACEHOLDER
        document = report(pages, options.images_scale)._make_copy_with_refmode(pathlib.Path(), mode, page_no=None)
        formats = {it.value for it in options.to_formats}
        mark = options.md_page_break_placeholder if self.marks else ""
        export = ExportDocumentResponse(filename=getattr(request.sources[0], "filename", "document.pdf"))
        if "md" in formats:
            export.md_content = document.export_to_markdown(image_mode=mode, page_break_placeholder=mark or None)
        if "json" in formats:
            export.json_content = document
        if "html" in formats:
            export.html_content = document.export_to_html(image_mode=mode)
        if "doctags" in formats:
            export.doctags_content = document.export_to_doctags()
        whole = ConvertDocumentResponse(document=export, status=status, errors=errors, processing_time=0.5)
        told = json.loads(whole.model_dump_json(by_alias=True))
        ConvertDocumentResponse.model_validate(told)
        if not self.marks:
            # What older servers do not have.
            del told["confidence"], told["timings"]
        return told


def error(page):
    return {
        "component_type": "model",
        "module_name": "StandardPdfPipeline",
        "error_message": f"Page {page} failed to convert.",
        "category": "inference_failure",
        "page_no": page,
    }


def place(page, left, top, right, bottom):
    box = BoundingBox(l=left, t=top, r=right, b=bottom, coord_origin=CoordOrigin.BOTTOMLEFT)
    return ProvenanceItem(page_no=page, bbox=box, charspan=(0, 1))


def report(pages, scale):
    """A page of each kind: text, a list that goes on over a break, a table, nothing, a picture, a form's text."""
    document = DoclingDocument(name="report")
    for page in pages:
        document.add_page(page_no=page, size=Size(width=612, height=792))
    items = None
    for page in pages:
        if page != 4:
            document.add_text(DocItemLabel.PAGE_HEADER, f"Harbour office {page}", prov=place(page, 72, 770, 300, 760), content_layer=ContentLayer.FURNITURE)
        if page == 1:
            document.add_title("Port of Ardel", prov=place(1, 72, 740, 300, 700))
            document.add_heading("Berths & tides", level=1, prov=place(1, 72, 690, 300, 660))
            items = document.add_list_group()
            document.add_list_item("B-03", enumerated=True, marker="1.", parent=items, prov=place(1, 90, 650, 300, 630))
        if page == 2:
            items = items or document.add_list_group()
            document.add_list_item("B-04", enumerated=True, marker="2.", parent=items, prov=place(2, 90, 740, 300, 720))
        if page == 3:
            def cell(text, row, column, rows=1, columns=1, header=False):
                return TableCell(
                    text=text, row_span=rows, col_span=columns, start_row_offset_idx=row, end_row_offset_idx=row + rows,
                    start_col_offset_idx=column, end_col_offset_idx=column + columns, column_header=header,
                )
            cells = [cell("Berth", 0, 0, 2, 1, True), cell("Tide", 0, 1, 1, 2, True), cell("High", 1, 1, header=True), cell("Low", 1, 2, header=True)]
            cells += [cell("B-03", 2, 0), cell("4.1 m", 2, 1), cell("0.3 m", 2, 2)]
            document.add_table(TableData(num_rows=3, num_cols=3, table_cells=cells), prov=place(3, 72, 700, 540, 500))
        if page == 5:
            for left, side in [(72, 250), (400, 12)]:
                pixels = Size(width=side * scale, height=side * scale)
                image = ImageRef(mimetype="image/png", dpi=int(72 * scale), size=pixels, uri=PNG)
                document.add_picture(image=image, prov=place(5, left, 600, left + side, 600 - side))
            document.add_text(DocItemLabel.CAPTION, "A crane", prov=place(5, 72, 340, 300, 330))
        if page == 6:
            document.add_code("ls -l", prov=place(6, 72, 700, 300, 680))
            document.add_formula("E = mc^2", prov=place(6, 72, 670, 300, 650))
            document.add_text(DocItemLabel.CHECKBOX_SELECTED, "Insured", prov=place(6, 72, 640, 300, 620))
        if page > 6:
            document.add_text(DocItemLabel.TEXT, f"Page {page}.", prov=place(page, 72, 700, 300, 680))
    return document
