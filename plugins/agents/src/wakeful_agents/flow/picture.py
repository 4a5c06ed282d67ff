"""A flow as Mermaid text, and as an SVG that needs nothing to be looked at."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from wakeful_agents.flow.model import END, Flow, FlowStep

#: Size of a box, and the gaps between boxes, in pixels; wide enough for a step's name and what it does.
WIDTH, HEIGHT, GAP_X, GAP_Y = 220, 52, 40, 46
#: Characters of a label that fit into a box.
LABEL = 30
_FONT = 'font-family="sans-serif" font-size="12"'
_MARKER = (
    '<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7"'
    ' orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>'
)


def mermaid(flow: Flow) -> str:
    """Return the flow as a Mermaid flowchart."""
    ids = {name: f"s{number}" for number, name in enumerate(flow.steps, 1)} | {END: END}
    lines = ["flowchart TD"]
    for name, step in flow.steps.items():
        left, right = ("{", "}") if step.kind == "branch" else ("[", "]")
        lines.append(f'    {ids[name]}{left}"{_quoted(name)}<br/>{_quoted(label(step))}"{right}')
    lines.append(f"    {END}([end])")
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
    if step.loop and step.loop.each:
        does += " (each)"
    elif step.loop:
        does += " (while)"
    line = " ".join(does.split())
    return line if len(line) <= LABEL else f"{line[: LABEL - 1]}…"


def ways(step: FlowStep) -> Iterator[tuple[str, str]]:
    """Yield (why, step) of what may follow."""
    for case in step.cases:
        yield (case.when.text if case.when else "else"), case.next
    if step.kind != "branch":
        yield "", step.next
        if step.on_error:
            yield "error", step.on_error


def _quoted(text: str) -> str:
    return escape(text, quote=False).replace('"', "#quot;")


def svg(flow: Flow) -> str:
    """Return the flow as SVG: layers from top to bottom, dashed arrows upwards."""
    layers = _layers(flow)
    wide = max(len(names) for names in layers)
    width = wide * (WIDTH + GAP_X) + GAP_X
    height = len(layers) * (HEIGHT + GAP_Y) + GAP_Y
    at: dict[str, tuple[float, float]] = {}
    for row, names in enumerate(layers):
        left = (width - len(names) * (WIDTH + GAP_X) + GAP_X) / 2
        for column, name in enumerate(names):
            at[name] = (left + column * (WIDTH + GAP_X), GAP_Y / 2 + row * (HEIGHT + GAP_Y))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" {_FONT}>',
        _MARKER,
        *(_arrow(at[name], at[way], text) for name in flow.steps for text, way in ways(flow.steps[name])),
        *(_box(at[name], name, label(flow.steps[name]) if name != END else "") for name in at),
        "</svg>",
    ]
    return "\n".join(parts)


def _layers(flow: Flow) -> list[list[str]]:
    """Return the steps by their distance from the start, the end last."""
    depth, todo = {flow.start: 0}, [flow.start]
    for name in todo:
        for way in flow.steps[name].ways:
            if way != END and way not in depth:
                depth[way] = depth[name] + 1
                todo.append(way)
    layers: list[list[str]] = [[] for _ in range(max(depth.values()) + 1)]
    for name in flow.steps:
        layers[depth[name]].append(name)
    return [*layers, [END]]


def _box(place: tuple[float, float], name: str, text: str) -> str:
    x, y = place
    middle = x + WIDTH / 2
    second = (
        f'<text x="{middle:g}" y="{y + 36:g}" text-anchor="middle" fill="#555">{escape(text)}</text>'
        if text
        else ""
    )
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{WIDTH}" height="{HEIGHT}" rx="6" fill="#f4f6fa" stroke="#345"/>'
        f'<text x="{middle:g}" y="{y + 20:g}" text-anchor="middle" font-weight="bold">{escape(name)}</text>'
        f"{second}"
    )


def _arrow(start: tuple[float, float], end: tuple[float, float], text: str) -> str:
    down = end[1] > start[1]
    x1, y1 = start[0] + WIDTH / 2, start[1] + (HEIGHT if down else 0)
    x2, y2 = end[0] + WIDTH / 2, end[1] + (0 if down else HEIGHT)
    dashed = "" if down else ' stroke-dasharray="4 3"'
    line = (
        f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" stroke="#345"{dashed}'
        ' marker-end="url(#arrow)"/>'
    )
    if not text:
        return line
    return line + f'<text x="{(x1 + x2) / 2 + 4:g}" y="{(y1 + y2) / 2:g}" fill="#555">{escape(text)}</text>'
