"""Mistral's OCR as its own client knows it: what comes is read by the client's request class, and what is answered is
checked with its response class before it is sent. The pages are written here, in the shape of the documented examples."""

import base64
import json

from mistralai.client.models import OCRRequest, OCRResponse
from pydantic import ValidationError

from peers import Peer, Refused, unknown

KEY = "mistral-key-0123456789"
PAGES = 6
MODELS = {"mistral-ocr-latest", "mistral-ocr-4-0", "mistral-ocr-2512"}
DIMENSIONS = {"dpi": 200, "height": 2200, "width": 1700}
HTML = (
    '<table><tr><th rowspan="2">Berth</th><th colspan="2">Tide</th></tr><tr><th>High</th><th>Low</th></tr>'
    "<tr><td>B-03</td><td>4.1 m</td><td>0.3 m</td></tr></table>"
)
PIPES = "| Berth | High | Low |\n| --- | --- | --- |\n| B-03 | 4.1 m | 0.3 m |"
JPEG = "data:image/jpeg;base64,/9j/4AAQSkZJRgABAQAAAQABAAD/2Q=="


class Mistral(Peer):
    """`knows_blocks` is false of an older host: it refuses the member, and tells Markdown alone."""

    def __init__(self, faults=(), always=None, knows_blocks=True, counts=True):
        self.knows_blocks, self.counts = knows_blocks, counts
        super().__init__(faults, always)

    def fault_body(self, status):
        if status == 401:
            return {"detail": "Unauthorized"}
        return {"object": "error", "message": f"status {status}", "type": "error", "param": None, "code": str(status)}

    def answer(self, asked):
        if asked["path"] != "/v1/ocr" or asked["method"] != "POST":
            raise Refused(404, {"detail": "Not Found"})
        headers = {name.lower(): value for name, value in asked["headers"].items()}
        if headers.get("authorization") != f"Bearer {KEY}":
            raise Refused(401, {"detail": "Unauthorized"})
        given = json.loads(asked["body"])
        if not self.knows_blocks and "include_blocks" in given:
            raise Refused(422, refusal("extra_forbidden", "include_blocks", "Extra inputs are not permitted"))
        try:
            request = OCRRequest.model_validate(given)
        except ValidationError as error:
            first = error.errors()[0]
            raise Refused(422, refusal(first["type"], *first["loc"][:1], first["msg"])) from error
        if extra := unknown(request, given):
            raise Refused(422, refusal("extra_forbidden", extra[0], "Extra inputs are not permitted"))
        if request.model not in MODELS:
            message = f"Invalid model: {request.model}"
            raise Refused(400, {"object": "error", "message": message, "type": "invalid_model", "code": "1500"})
        self.check_document(given["document"])
        answer = json.loads(json.dumps(self.pages(given)))
        OCRResponse.model_validate(answer)
        return answer

    def check_document(self, document):
        kind = document["type"]
        assert kind in ("document_url", "image_url"), kind
        url = document[kind]
        if url.startswith("data:"):
            head, data = url.split(",", 1)
            content = base64.b64decode(data, validate=True)
            magic = {"data:application/pdf;base64": b"%PDF-", "data:image/png;base64": b"\x89PNG"}[head]
            assert content.startswith(magic), content[:8]
            assert (kind == "document_url") == (magic == b"%PDF-"), kind

    def pages(self, given):
        wanted = given.get("pages") or range(PAGES)
        pages = [self.page(index, given) for index in wanted]
        answer = {"pages": pages, "model": "mistral-ocr-4-0", "document_annotation": None}
        # The class wants the count; what a host leaves out is tried by the golden files.
        answer["usage_info"] = {"pages_processed": len(pages), "doc_size_bytes": 1234}
        if given.get("document_annotation_format"):
            schema = given["document_annotation_format"]["json_schema"]
            assert schema["name"] and schema["schema"], schema
            answer["document_annotation"] = json.dumps({"berths": ["B-03"]})
        return answer

    def page(self, index, given):
        blocks = [block("title", "# Port of Ardel", (200, 200, 1500, 260)), block("text", f"Page {index}.", (200, 300, 900, 340))]
        text = f"# Port of Ardel\n\nPage {index}."
        page = {"index": index, "images": [], "tables": [], "hyperlinks": [], "header": None, "footer": None, "dimensions": DIMENSIONS}
        if index == 0:
            form = given.get("table_format")
            name = {"html": "tbl-0.html", "markdown": "tbl-0.md"}.get(form)
            content = HTML if form == "html" else PIPES
            text += f"\n\n[{name}]({name})" if name else f"\n\n{PIPES}"
            if name:
                page["tables"] = [{"id": name, "content": content, "format": form}]
            blocks.append(block("table", content, (200, 400, 1500, 700), table_id=name))
        if index == 1:
            for number, box in enumerate([(200, 400, 700, 900), (800, 400, 830, 430)]):
                image = {"id": f"img-{number}.jpeg", **corners(box), "image_base64": JPEG if given.get("include_image_base64") else None}
                if given.get("bbox_annotation_format"):
                    image["image_annotation"] = json.dumps({"kind": "crane"})
                page["images"].append(image)
                text += f"\n\n![img-{number}.jpeg](img-{number}.jpeg)"
                blocks.append(block("image", "", box, image_id=f"img-{number}.jpeg"))
        if given.get("extract_header"):
            page["header"] = "Harbour office"
        if given.get("extract_footer"):
            page["footer"] = f"{index + 1}"
        if given.get("confidence_scores_granularity") == "block":
            for piece in blocks:
                piece["confidence_scores"] = {"average_content_confidence_score": 0.875}
        page["markdown"] = text
        if self.knows_blocks and given.get("include_blocks", True):
            page["blocks"] = blocks
        return page


def corners(box):
    return dict(zip(("top_left_x", "top_left_y", "bottom_right_x", "bottom_right_y"), box))


def block(kind, content, box, **more):
    return {"type": kind, **corners(box), "content": content, **more}


def refusal(kind, place, message):
    return {"detail": [{"type": kind, "loc": ["body", place], "msg": message}]}
