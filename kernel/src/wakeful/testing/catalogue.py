"""A generated catalogue of tools, for what agents with very many actions are tested with.

The tools are those of ordinary business systems: ten apps with three kinds of records and four verbs each,
then the same again with numbered apps. They differ by name, text and parameters, and are the same in every
process. ``tools`` gives plain data, as a server would declare it; ``actions`` gives actions that answer with
what they were given.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count, islice, product

from wakeful.tools.loaders import action_from_data
from wakeful.types import Action, ActionContext, ActionResult, Effect, Json

#: Apps with their records, each with its fields.
APPS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "crm": {
        "contact": ("full_name", "email", "phone"),
        "company": ("legal_name", "industry", "website"),
        "deal": ("title", "amount", "stage"),
    },
    "mail": {
        "draft": ("recipient", "subject", "body"),
        "label": ("label_name", "color", "visibility"),
        "filter": ("sender", "keyword", "target_folder"),
    },
    "calendar": {
        "event": ("title", "start_time", "attendees"),
        "room": ("room_name", "capacity", "floor"),
        "reminder": ("note", "due_time", "channel"),
    },
    "files": {
        "document": ("title", "folder", "content"),
        "spreadsheet": ("title", "sheet", "range"),
        "share": ("document", "person", "permission"),
    },
    "helpdesk": {
        "ticket": ("summary", "priority", "requester"),
        "comment": ("ticket", "author", "text"),
        "queue": ("queue_name", "team", "hours"),
    },
    "billing": {
        "invoice": ("customer", "total", "due_date"),
        "payment": ("invoice", "amount", "method"),
        "subscription": ("plan", "customer", "renewal_date"),
    },
    "people": {
        "employee": ("full_name", "position", "manager"),
        "absence": ("employee", "first_day", "last_day"),
        "payslip": ("employee", "month", "gross_pay"),
    },
    "wiki": {
        "page": ("title", "space", "markdown"),
        "template": ("template_name", "space", "markdown"),
        "space": ("space_name", "owner", "visibility"),
    },
    "shop": {
        "product": ("product_name", "price", "stock"),
        "order": ("customer", "items", "delivery_address"),
        "coupon": ("code", "discount", "expiry_date"),
    },
    "fleet": {
        "vehicle": ("plate", "model", "mileage"),
        "trip": ("driver", "destination", "departure_time"),
        "repair": ("vehicle", "workshop", "estimate"),
    },
}
#: Verbs with what they do, which effect that has, and whether they need fields or an id.
VERBS: Mapping[str, tuple[str, Effect, bool]] = {
    "create": ("Create a new {record} in {app}", Effect.WRITE, False),
    "search": ("Search {app} for {record} records by text and field values", Effect.READ, False),
    "update": ("Change fields of an existing {record} in {app}", Effect.WRITE, True),
    "delete": ("Delete a {record} from {app} for good", Effect.EXTERNAL, True),
}
#: How many there are before apps get numbers.
SET = sum(len(records) for records in APPS.values()) * len(VERBS)


def tools(number: int = SET) -> list[dict[str, Json]]:
    """Return ``number`` tools as data: name, description, category and ``inputSchema``."""
    return [tool for tool, _ in islice(_all(), number)]


def actions(number: int = SET) -> tuple[Action, ...]:
    """Return ``number`` actions; each answers with the arguments it was given."""
    return tuple(
        action_from_data(tool, _answer, owner="catalogue", effect=effect, output_trust="trusted")
        for tool, effect in islice(_all(), number)
    )


async def _answer(args: Mapping[str, Json], ctx: ActionContext) -> ActionResult:  # noqa: ARG001  (as called)
    return ActionResult(message="done", outputs={"given": dict(args)})


def _all() -> Iterator[tuple[dict[str, Json], Effect]]:
    for round_ in count(1):
        for (app, records), (verb, told) in product(APPS.items(), VERBS.items()):
            name = app if round_ == 1 else f"{app}{round_}"
            for record, fields in records.items():
                yield _tool(name, record, fields, verb, told[0], needs_id=told[2]), told[1]


def _tool(
    app: str, record: str, fields: tuple[str, ...], verb: str, told: str, *, needs_id: bool
) -> dict[str, Json]:
    texts = {field: f"The {field.replace('_', ' ')} of the {record}, as {app} shows it." for field in fields}
    properties: dict[str, Json] = {
        field: {"type": "string", "description": text} for field, text in texts.items()
    }
    if needs_id:
        properties[f"{record}_id"] = {"type": "string", "description": f"Which {record}: its id in {app}."}
    properties["dry_run"] = {
        "type": "boolean",
        "default": False,
        "description": "If true, only check whether it would be allowed and change nothing.",
    }
    said = told.format(record=record, app=app)
    return {
        "name": f"{app}_{verb}_{record}",
        "description": f"{said}. Returns the {record} as it is afterwards, with its id and the time of the"
        f" last change. Needs the right to {verb} records of the kind {record}.",
        "category": app,
        "inputSchema": {
            "type": "object",
            "properties": properties,
            "required": [f"{record}_id"] if needs_id else [fields[0]],
        },
    }
