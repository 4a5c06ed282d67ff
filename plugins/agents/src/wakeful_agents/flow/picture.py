"""A flow as Mermaid text, and as an SVG that needs nothing to be looked at."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from itertools import pairwise
from typing import Final

from attrs import frozen

from wakeful_agents.flow.model import END, Flow, FlowStep

#: Sizes in pixels: a box, the gap below it, the margin, the room beside boxes for what arrows say, and the
#: distance of arrows that pass each other.
WIDTH, HEIGHT, GAP, MARGIN, BESIDE, LANE = 230, 48, 34, 16, 270, 14
#: Height of what an arrow says, and how far below the top of a box arrows come in.
LINE, INTO = 16, 10
#: Characters that fit into a box, and beside one.
LABEL, SAID = 31, 44
_FONT: Final = 'font-family="sans-serif" font-size="12"'
_FILLS: Final = {"action": "#f4f6fa", "prompt": "#eaf6ea", "sub_agent": "#f3ecfa", "branch": "#fdf5dc"}
_MARKER: Final = (
    '<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7"'
    ' orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>'
)


def mermaid(flow: Flow) -> str:
    """Return the flow as a Mermaid flowchart."""
    ids = {name: f"s{number}" for number, name in enumerate((END, *flow.steps))}  # no word of Mermaid's own
    lines = ["flowchart TD"]
    for name, step in flow.steps.items():
        left, right = ("{", "}") if step.kind == "branch" else ("[", "]")
        lines.append(f'    {ids[name]}{left}"{_quoted(name)}<br/>{_quoted(label(step))}"{right}')
    lines.append(f'    {ids[END]}(["{END}"])')
    for name in flow.steps:
        for text, way in ways(flow.steps[name]):
            arrow = f'-- "{_quoted(text)}" -->' if text else "-->"
            lines.append(f"    {ids[name]} {arrow} {ids[way]}")
    return "\n".join(lines)


def label(step: FlowStep) -> str:
    """Return what a step does, in a few words."""
    if step.kind == "branch":
        return "branch"
    does = step.does if step.kind == "action" else f"{step.kind.replace('_', '-')}: {step.does}"
    if step.loop.each:
        does += " (each)"
    elif step.loop:
        does += " (while)"
    return _short(does, LABEL)


def ways(step: FlowStep) -> Iterator[tuple[str, str]]:
    """Yield (why, step) of what may follow."""
    for case in step.cases:
        yield (case.when.text if case.when else "else"), case.next
    if step.kind != "branch":
        yield "", step.next
        if step.on_error:
            yield "error", step.on_error


def _short(text: str, most: int) -> str:
    line = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def _quoted(text: str) -> str:
    plain = "".join(sign if sign.isprintable() else " " for sign in text)
    return escape(plain.replace("#", "#35;"), quote=False).replace('"', "#quot;")


@frozen
class Arrow:
    """An arrow that passes beside the boxes: from where, to where, and what it says."""

    start: float
    end: float
    text: str

    def passes(self, other: Arrow) -> bool:
        """Whether both need a lane of their own; arrows to the same place share theirs."""
        mine, its = sorted((self.start, self.end)), sorted((other.start, other.end))
        return self.end != other.end and mine[0] <= its[1] and its[0] <= mine[1]


def svg(flow: Flow) -> str:
    """Return the flow as SVG: the steps below each other, arrows that skip some beside, dashed upwards."""
    order = [*_order(flow), END]
    beside = {name: _beside(flow, order, place) for place, name in enumerate(order)}
    tops, y = dict[str, float](), float(MARGIN)
    for name in order:
        tops[name] = y
        y += _height(beside[name]) + GAP
    arrows = [
        Arrow(tops[name] + INTO + LINE * (number + 1), tops[way] + INTO, text)
        for name in order
        for number, (text, way) in enumerate(beside[name])
    ]
    lanes = _lanes(arrows)
    width = MARGIN + WIDTH + (BESIDE if arrows else 0) + LANE * (max(lanes, default=0) + 1) + MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {y:g}" width="{width}" {_FONT}>',
        _MARKER,
        *(_passing(arrow, lane) for arrow, lane in zip(arrows, lanes, strict=True)),
        *(_straight(flow, name, way, tops, beside) for name, way in pairwise(order)),
        *(_box(flow.steps.get(name), name, tops[name], _height(beside[name])) for name in order),
        "</svg>",
    ]
    return "\n".join(part for part in parts if part)


def _order(flow: Flow) -> list[str]:
    """Return the steps so that, cycles left aside, each stands below what leads to it."""
    done: list[str] = []
    seen, path = {flow.start}, [(flow.start, iter(reversed(flow.steps[flow.start].ways)))]
    while path:
        name, rest = path[-1]
        way = next(rest, None)
        if way is None:
            done.append(name)
            path.pop()
        elif way != END and way not in seen:
            seen.add(way)
            path.append((way, iter(reversed(flow.steps[way].ways))))
    return done[::-1]


def _beside(flow: Flow, order: list[str], place: int) -> list[tuple[str, str]]:
    """Return (why, step) of the ways that do not simply lead to the next box."""
    step = flow.steps.get(order[place])
    found = list(ways(step)) if step else []
    straight = next((way for way in found if way[1] == order[place + 1]), None) if found else None
    return [way for way in found if way is not straight]


def _height(beside: list[tuple[str, str]]) -> float:
    return max(HEIGHT, INTO + LINE * (len(beside) + 1))


def _lanes(arrows: list[Arrow]) -> list[int]:
    """Return for each arrow how far out it passes, so that none lies on another."""
    lanes: dict[int, int] = {}
    for number in sorted(range(len(arrows)), key=lambda each: abs(arrows[each].end - arrows[each].start)):
        taken = {lane for other, lane in lanes.items() if arrows[number].passes(arrows[other])}
        lanes[number] = next(lane for lane in range(len(arrows)) if lane not in taken)
    return [lanes[number] for number in range(len(arrows))]


def _passing(arrow: Arrow, lane: int) -> str:
    left = MARGIN + WIDTH
    out = left + BESIDE + LANE * lane
    dashed = ' stroke-dasharray="4 3"' if arrow.end < arrow.start else ""
    line = (
        f'<path d="M{left} {arrow.start:g}H{out}V{arrow.end:g}H{left}" fill="none" stroke="#345"{dashed}'
        ' marker-end="url(#arrow)"/>'
    )
    return line + _said(arrow.text, left + 6, arrow.start - 4)


def _straight(
    flow: Flow, name: str, way: str, tops: dict[str, float], beside: dict[str, list[tuple[str, str]]]
) -> str:
    """Return the arrow from a box to the next one, if it leads there."""
    said = [text for text, to in ways(flow.steps[name]) if to == way and (text, to) not in beside[name]]
    if not said:
        return ""
    x, y1, y2 = MARGIN + WIDTH / 2, tops[name] + _height(beside[name]), tops[way]
    line = f'<line x1="{x:g}" y1="{y1:g}" x2="{x:g}" y2="{y2:g}" stroke="#345" marker-end="url(#arrow)"/>'
    return line + _said(said[0], x + 6, (y1 + y2) / 2 + 4)


def _said(text: str, x: float, y: float) -> str:
    if not text:
        return ""
    whole, shown = escape(_short(text, len(text))), escape(_short(text, SAID))
    return f'<text x="{x:g}" y="{y:g}" fill="#555"><title>{whole}</title>{shown}</text>'


def _box(step: FlowStep | None, name: str, y: float, height: float) -> str:
    x, middle = MARGIN, MARGIN + WIDTH / 2
    fill, round_ = (_FILLS[step.kind], 22 if step.kind == "branch" else 5) if step else ("#fff", 24)
    place = y + height / 2 + (-4 if step else 4)
    text = f'<text x="{middle:g}" text-anchor="middle"'
    box = f'<rect x="{x}" y="{y:g}" width="{WIDTH}" height="{height:g}" rx="{round_}" fill="{fill}"'
    title = f'{text} y="{place:g}" font-weight="bold">{escape(_short(name, LABEL - 4))}</text>'
    does = f'{text} y="{place + LINE:g}" fill="#555">{escape(label(step))}</text>' if step else ""
    return f'{box} stroke="#345"/>{title}{does}'
