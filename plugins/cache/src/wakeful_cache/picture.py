"""The requests of a conversation as a picture: a bar for each, what was read, written and paid in full."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape

from wakeful_cache.figures import Line

#: Pixels: height of the bars, of the line below them, of the key above; width of a bar and its gap.
HEIGHT, FOOT, HEAD, BAR, GAP = 200, 24, 30, 14, 4
#: Narrowest picture, so that the key fits.
LEAST = 600
COLOURS = {"read": "#4c9f70", "written": "#e0a93b", "uncached": "#c8553d"}
#: A break's mark, by whether it was declared.
MARK = {True: "#6c757d", False: "#b00020"}


def svg(title: str, lines: Sequence[Line]) -> str:
    """Return the picture as SVG.

    Args:
        title: of the picture.
        lines: the requests in order.
    """
    most = max((line.usage.input for line in lines), default=0) or 1
    width = max(LEAST, len(lines) * (BAR + GAP) + GAP)
    height = HEAD + HEIGHT + FOOT
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="11">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        *_key(),
        f'<text x="{width - GAP}" y="17" text-anchor="end">highest: {most:,} tokens</text>',
    ]
    for place, line in enumerate(lines):
        parts += _bar(place, line, most)
    baseline = HEAD + HEIGHT
    parts.append(f'<line x1="0" y1="{baseline}" x2="{width}" y2="{baseline}" stroke="#333333"/>')
    return "\n".join([*parts, "</svg>", ""])


def _key() -> list[str]:
    found, x = [], GAP
    for name, colour in COLOURS.items():
        found.append(f'<rect x="{x}" y="8" width="10" height="10" fill="{colour}"/>')
        found.append(f'<text x="{x + 14}" y="17">{name}</text>')
        x += 80
    for declared, name in ((False, "undeclared break"), (True, "declared break")):
        found.append(f'<circle cx="{x + 5}" cy="13" r="4" fill="{MARK[declared]}"/>')
        found.append(f'<text x="{x + 14}" y="17">{name}</text>')
        x += 120
    return found


def _bar(place: int, line: Line, most: int) -> list[str]:
    x, y = GAP + place * (BAR + GAP), float(HEAD + HEIGHT)
    used = line.usage
    said = f"{line.number}: {line.run} step {line.step}, {used.input:,} in, hit {line.hit:.0%}"
    if line.wasted:
        said += f", wasted {line.wasted:,}: {line.why}"
    parts = [f"<g><title>{escape(said)}</title>"]
    for name, tokens in (("read", used.read), ("written", used.write), ("uncached", used.uncached)):
        high = HEIGHT * tokens / most
        y -= high
        if tokens:
            parts.append(
                f'<rect x="{x}" y="{y:.1f}" width="{BAR}" height="{high:.1f}" fill="{COLOURS[name]}"/>'
            )
    if line.change is not None:
        mark = MARK[line.change.declared]
        parts.append(f'<circle cx="{x + BAR / 2:g}" cy="{HEAD + HEIGHT + 12}" r="4" fill="{mark}"/>')
    return [*parts, "</g>"]
