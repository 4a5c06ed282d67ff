"""``wakeful approvals``: what waits for people, and deciding about it."""

from __future__ import annotations

from typing import Annotated

import typer

from wakeful.cli.extra import Commands
from wakeful.cli.options import DEFAULT_FILE, AsJson, File

app = typer.Typer(
    cls=Commands,
    help="List what waits for people, approve, reject and answer.",
    add_completion=False,
    rich_markup_mode=None,
)

RequestId = Annotated[str, typer.Argument(metavar="REQUEST", help="Id of the request.")]
As = Annotated[str, typer.Option("--as", metavar="NAME", help="Who decides; default: who is logged in.")]
Rule = Annotated[
    str, typer.Option("--rule", metavar="JSON", help="A rule about later calls of the same action.")
]


@app.command("list")
def list_(
    *,
    everything: Annotated[bool, typer.Option("--all", help="Decided ones too.")] = False,
    file: File = DEFAULT_FILE,
    json: AsJson = False,
) -> int:
    """List what waits: a card for each step, then drafts, then calls whose outcome nobody knows."""
    from wakeful_policy.approvals.cards import list_requests

    return list_requests(file, everything=everything, as_json=json)


@app.command()
def show(request: RequestId, *, file: File = DEFAULT_FILE, json: AsJson = False) -> int:
    """Show a request: arguments and where they came from, who may decide, attempts that were refused."""
    from wakeful_policy.approvals.cards import show_request

    return show_request(file, request, as_json=json)


@app.command()
def approve(
    request: RequestId,
    person: As = "",
    args: Annotated[
        str, typer.Option("--args", metavar="JSON", help="Other arguments; they are judged again.")
    ] = "",
    rule: Rule = "",
    file: File = DEFAULT_FILE,
    *,
    json: AsJson = False,
) -> int:
    """Let a held call run, once, and wait for what its run says."""
    from wakeful_policy.approvals.people import approve_request

    return approve_request(file, request, person, args, rule, as_json=json)


@app.command()
def reject(
    request: RequestId,
    person: As = "",
    rule: Rule = "",
    file: File = DEFAULT_FILE,
    *,
    json: AsJson = False,
) -> int:
    """Refuse a held call, or drop a draft, and wait for what its run says."""
    from wakeful_policy.approvals.people import reject_request

    return reject_request(file, request, person, rule, as_json=json)


@app.command()
def answer(
    request: RequestId,
    text: Annotated[str, typer.Argument(metavar="ANSWER", help="Text, or JSON where it is asked for.")],
    person: As = "",
    file: File = DEFAULT_FILE,
    *,
    json: AsJson = False,
) -> int:
    """Answer a question, or say `took_effect` or `did_not` of a call whose outcome nobody knows."""
    from wakeful_policy.approvals.people import answer_request

    return answer_request(file, request, person, text, as_json=json)
