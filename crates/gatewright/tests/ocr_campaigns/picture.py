"""Draws what was read of a page over the page: `scripts/ocr-picture` calls it."""

import json
import sys

from PIL import Image, ImageDraw, ImageFont

page_png, answer, out = sys.argv[1:4]
COLOURS = {
    "title": "#b30059",
    "section_header": "#d1495b",
    "text": "#2a6f97",
    "list_item": "#3a7d44",
    "table": "#e07a00",
    "picture": "#6a4c93",
    "caption": "#8d6e00",
    "code": "#00796b",
    "page_header": "#777777",
    "page_footer": "#777777",
}
WIDTH = 900

page = json.load(open(answer))["pages"][0]
image = Image.open(page_png).convert("RGB")
scale = image.width / page["dimensions"]["width"]
draw = ImageDraw.Draw(image, "RGBA")
font = ImageFont.load_default(size=image.width / 70)


def frame(box, colour, width):
    places = [box[side] * scale for side in "ltrb"]
    draw.rectangle(places, outline=colour, width=width, fill=colour + "18")
    return places


for number, element in enumerate(page["elements"], 1):
    colour = COLOURS.get(element["label"], "#000000")
    left, top, *_ = frame(element["bbox"], colour, max(2, image.width // 500))
    word = f"{number} {element['label']}"
    height = font.size * 1.2
    draw.rectangle([left, top - height, left + draw.textlength(word, font) + 8, top], fill=colour)
    draw.text((left + 4, top - height), word, "white", font)
image.thumbnail((WIDTH, WIDTH * 2))
image.quantize(64).save(out, optimize=True)
