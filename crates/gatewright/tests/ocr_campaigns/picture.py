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


line = max(2, image.width // 500)

for number, element in enumerate(page["elements"], 1):
    colour = COLOURS.get(element["label"], "#000000")
    left, top, right, bottom = (element["bbox"][side] * scale for side in "ltrb")
    # Around what was found, not over it.
    draw.rectangle([left - 2 * line, top - 2 * line, right + 2 * line, bottom + 2 * line], outline=colour, width=line, fill=colour + "18")
    word = f"{number} {element['label']}"
    height, width = font.size * 1.2, draw.textlength(word, font) + 8
    corner = (left - 2 * line - width, top - 2 * line)
    draw.rectangle([*corner, corner[0] + width, corner[1] + height], fill=colour)
    draw.text((corner[0] + 4, corner[1]), word, "white", font)
image.thumbnail((WIDTH, WIDTH * 2))
image.quantize(64).save(out, optimize=True)
