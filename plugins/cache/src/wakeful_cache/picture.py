"""The requests of a conversation as a picture: a bar for each, what was read, written and paid in full."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape

from wakeful_cache.figures import Line

#: Pixels: height of the bars, of what stands above and below them, width of what stands left and right.
HEIGHT, HEAD, FOOT, LEFT, RIGHT = 200, 56, 36, 56, 12
#: Pixels from one bar to the next, at most; with many requests they get thinner, down to the least.
PITCH, LEAST_PITCH = 18, 4
#: Width of the bars together at which they begin to get thinner, and the narrowest picture.
WIDE, NARROW = 1400, 660
#: Lines with a number of tokens, and requests with a number, at most.
SCALE, NUMBERED = 5, 20
COLOURS = {"read": "#4c9f70", "written": "#e0a93b", "uncached": "#c8553d"}
#: A break's mark, by whether it was declared.
MARK = {True: "#6c757d", False: "#b00020"}
#: Stripes over what was sent before and had to be paid again.
AGAIN = (
    '<pattern id="again" width="4" height="4" patternUnits="userSpaceOnUse">'
    '<path d="M0,4 L4,0 M-1,1 L1,-1 M3,5 L5,3" stroke="#222222" stroke-width="1"/></pattern>'
)


def svg(title: str, lines: Sequence[Line]) -> str:
    """Return the picture as SVG.

    Args:
        title: of the picture.
        lines: the requests in order.
    """
    top = max((line.usage.input for line in lines), default=0) or 1
    pitch = max(LEAST_PITCH, min(PITCH, WIDE / max(len(lines), 1)))
    width = max(NARROW, LEFT + round(len(lines) * pitch) + RIGHT)
    height = HEAD + HEIGHT + FOOT
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="11">',
        f"<title>{escape(title)}</title>",
        f"<defs>{AGAIN}</defs>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        _text(LEFT, 18, title, more='font-size="13" font-weight="bold"'),
        *_key(),
        *_scale(top, width),
    ]
    every = _round(len(lines) / NUMBERED)
    for place, line in enumerate(lines):
        x = LEFT + place * pitch
        parts += _bar(x, pitch * 0.8, line, top)
        if line.number % every == 0:
            parts.append(_text(x + pitch * 0.4, HEAD + HEIGHT + 28, str(line.number), anchor="middle"))
    return "\n".join([*parts, "</svg>", ""])


def _text(x: float, y: float, said: str, anchor: str = "start", more: str = "") -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" {more}>{escape(said)}</text>'


def _key() -> Iterator[str]:
    x = LEFT
    for name, fill in (*COLOURS.items(), ("paid again", "url(#again)")):
        yield f'<rect x="{x}" y="30" width="10" height="10" fill="{fill}" stroke="#999999"/>'
        yield _text(x + 14, 39, name)
        x += 84
    for declared, name in ((False, "undeclared break"), (True, "declared break")):
        yield f'<circle cx="{x + 5}" cy="35" r="4" fill="{MARK[declared]}"/>'
        yield _text(x + 14, 39, name)
        x += 124


def _scale(top: int, width: int) -> Iterator[str]:
    """Yield lines at round numbers of tokens."""
    step = _round(top / SCALE)
    for tokens in range(0, top + 1, step):
        y = HEAD + HEIGHT * (1 - tokens / top)
        colour = "#dddddd" if tokens else "#333333"
        yield f'<line x1="{LEFT - 4}" y1="{y:.1f}" x2="{width - RIGHT}" y2="{y:.1f}" stroke="{colour}"/>'
        yield _text(LEFT - 8, y + 4, f"{tokens:,}", anchor="end")


def _round(least: float) -> int:
    """Return the smallest of 1, 2, 5, 10, 20, 50, … that is at least so much."""
    power = 1
    while True:
        for digit in (1, 2, 5):
            if digit * power >= least:
                return digit * power
        power *= 10


def _bar(x: float, wide: float, line: Line, top: int) -> Iterator[str]:
    base, used = float(HEAD + HEIGHT), line.usage
    said = f"{line.number}: {line.run} step {line.step}, {used.input:,} in, hit {line.hit:.0%}"
    if line.wasted:
        said += f", paid again {line.wasted:,}: {line.why}"
    yield f"<g><title>{escape(said)}</title>"
    y = base
    for name, tokens in (("read", used.read), ("written", used.write), ("uncached", used.uncached)):
        y -= HEIGHT * tokens / top
        if tokens:
            yield _box(x, y, wide, HEIGHT * tokens / top, COLOURS[name])
    again = HEIGHT * min(line.wasted, used.write + used.uncached) / top
    if again:
        yield _box(x, base - HEIGHT * used.read / top - again, wide, again, "url(#again)")
    if line.change is not None:
        centre = f'cx="{x + wide / 2:g}" cy="{base + 10:g}"'
        yield f'<circle {centre} r="{min(4, wide / 2):g}" fill="{MARK[line.change.declared]}"/>'
    yield "</g>"


def _box(x: float, y: float, wide: float, high: float, fill: str) -> str:
    return f'<rect x="{x:g}" y="{y:.1f}" width="{wide:g}" height="{high:.1f}" fill="{fill}"/>'
