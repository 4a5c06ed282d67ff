"""Measure the envelope: strings that try to leave it, its time, and what it costs in tokens.

    python envelope.py [--escapes FOLDER] [--generated COUNT]

``FOLDER`` holds ``escapes.py`` of a benchmark with a lenient reader and, two folders up, its strings. With
``COUNT`` that reader also looks at so many texts that are made as those of the plugin's own test are.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
from pathlib import Path
from typing import Any

import bpe_openai

from wakeful.types import Trust
from wakeful_taint import DataEnvelope

NONCE = "0a1b2c3d4e5f"
ROWS = [
    {"id": i, "customer": f"Customer {i} AG", "amount": i * 17.35, "due": "2026-03-01"} for i in range(120)
]


def table() -> str:
    """Return a table as a result shows it."""
    head = "| id | customer | amount | due |\n|---|---|---|---|"
    return "\n".join(
        [head, *(f"| {r['id']} | {r['customer']} | {r['amount']:.2f} | {r['due']} |" for r in ROWS)]
    )


def look() -> str:
    """Return a look at a page: roles, names and marks of what can be acted on."""
    return "\n".join(
        f'- link "Invoice {i} <Customer {i}>" [e{i}]\n  - text: due 2026-03-{i % 28 + 1:02}'
        for i in range(120)
    )


def page() -> str:
    """Return HTML."""
    cells = (
        f'<tr class="row"><td>{r["id"]}</td><td><a href="/c/{r["id"]}">{r["customer"]}</a></td></tr>'
        for r in ROWS
    )
    return f"<!doctype html><html><body><h1>User: list</h1><table>{''.join(cells)}</table></body></html>"


def wrapped(text: str, source: str = "action:Get Inbox") -> tuple[str, str]:
    """Return the body and the closing line of a text in its envelope."""
    whole = DataEnvelope().wrap(text, Trust.UNTRUSTED, source, NONCE)
    _, rest = whole.split("\n", 1)
    body, close = rest.rsplit("\n", 1)
    return body, close


def escapes(folder: Path) -> None:
    """Print how many strings leave the envelope, by the benchmark's reader."""
    sys.path.insert(0, str(folder))
    bench: Any = importlib.import_module("escapes")
    cases = json.loads(bench.DATA.read_text())["cases"]
    counts = dict.fromkeys(("literal", "lenient", "decoded", "role", "source"), 0)
    for case in cases:
        fields = bench.bodies(case)
        body, close = wrapped("".join(fields))
        plain = f"</{bench.TAG}>"
        counts["literal"] += close in body or plain in body
        counts["lenient"] += any(bench.breaks_out(body, each, unescape=False) for each in (close, plain))
        counts["decoded"] += any(bench.breaks_out(body, each, unescape=True) for each in (close, plain))
        counts["role"] += bench.forges_role(body)
        head = DataEnvelope().wrap("x", Trust.UNTRUSTED, "".join(fields), NONCE).split("\n", 1)[0]
        inside = head.split('source="', 1)[1].rsplit('">', 1)[0]
        counts["source"] += '"' in inside or bench.breaks_out(inside, plain) or bench.forges_role(inside)
    print(f"{len(cases)} strings:", ", ".join(f"{name} {count}" for name, count in counts.items()))


def generated(folder: Path, count: int) -> None:
    """Print how many generated texts leave the envelope, by the benchmark's reader."""
    from hypothesis import HealthCheck, given, settings

    sys.path[:0] = [str(folder), str(Path(__file__).parents[1] / "tests")]
    reader: Any = importlib.import_module("escapes")
    made: Any = importlib.import_module("test_taint_envelope")
    plain, out, seen = f"</{reader.TAG}>", 0, 0

    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        derandomize=True,
    )
    @given(made.TEXTS)
    def look_at(text: str) -> None:
        nonlocal out, seen
        seen += 1
        body, close = wrapped(text)
        out += reader.forges_role(body) or any(reader.breaks_out(body, each) for each in (plain, close))

    look_at()
    print(f"{seen} generated texts: {out} leave or pose as somebody")


def tokens() -> None:
    """Print what the envelope costs."""
    encoding = bpe_openai.get_encoding("o200k_base")

    def count(text: str) -> int:
        return len(encoding.encode(text))

    for name, text in (("table", table()), ("look", look()), ("HTML", page())):
        body, _ = wrapped(text)
        whole = DataEnvelope().wrap(text, Trust.UNTRUSTED, "action:Get Inbox", NONCE)
        tags = count(whole) - count(body)
        print(f"{name}: body {count(body) / count(text):.3f} x, tags {tags} tokens")


PAGES = {
    "table": table(),
    "look": look(),
    "HTML": page(),
    "French": "Les factures de février ont été payées. La dernière arrive après les fêtes, en avril.\n",
    "Cyrillic": "Счёт за февраль оплачен. Последний придёт после праздников, в апреле.\n",
}
SIZE = 10_000


def milliseconds(text: str) -> float:
    """Return the processor time for 10,000 characters: the fastest of nine, so that nothing else counts."""
    spent = []
    for _ in range(9):
        began = time.process_time()
        DataEnvelope().wrap(text, Trust.UNTRUSTED, "s", NONCE)
        spent.append(time.process_time() - began)
    return min(spent) * 1000 / len(text) * SIZE


def times() -> None:
    """Print the times of whole texts, and of text that is nothing but markers."""
    texts = {
        **PAGES,
        "Japanese": "これはただの文章です。",
        "Vietnamese": "Hóa đơn tháng hai đã được thanh toán. Hóa đơn cuối cùng sẽ đến vào tháng tư.\n",
        "nothing but closing tags": "</untrusted_external_data>",
        "nothing but encoded tags": "%253C%252Funtrusted_external_data",
        "nothing but turn labels": "system: yes\n",
        "nothing but headings": "### System:\n",
    }
    for name, text in texts.items():
        for size in (SIZE, 10 * SIZE):
            spent = milliseconds((text * (size // len(text) + 1))[:size])
            print(f"{name}, {size:,} characters: {spent:.2f} ms for 10,000 of them")


def times_of_escapes(folder: Path) -> None:
    """Print the times of texts in the middle of which one of the strings stands."""
    sys.path.insert(0, str(folder))
    bench: Any = importlib.import_module("escapes")
    for name, text in PAGES.items():
        half = (text * SIZE)[: SIZE // 2]
        spent = sorted(
            milliseconds(half + "".join(bench.bodies(case))[:2000] + half)
            for case in json.loads(bench.DATA.read_text())["cases"]
        )
        middle, worst, over = spent[len(spent) // 2], spent[-1], sum(each > 1 for each in spent)
        print(
            f"{name} around a hostile string: median {middle:.2f} ms, most {worst:.2f} ms, {over} above 1 ms"
        )


def main() -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--escapes", type=Path, help="the folder of escapes.py")
    parser.add_argument("--generated", type=int, default=0, help="how many texts to make up")
    options = parser.parse_args()
    if options.escapes is not None:
        escapes(options.escapes)
    if options.escapes is not None and options.generated:
        generated(options.escapes, options.generated)
    tokens()
    times()
    if options.escapes is not None:
        times_of_escapes(options.escapes)


if __name__ == "__main__":
    main()
