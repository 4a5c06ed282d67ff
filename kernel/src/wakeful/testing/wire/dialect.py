"""What the three wire formats have in common."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from typing import Any, ClassVar

from wakeful.testing.wire.bill import Bill
from wakeful.testing.wire.canon import Body, Canon, dumps
from wakeful.testing.wire.faults import FaultError
from wakeful.testing.wire.meter import Meter
from wakeful.testing.wire.scenario import Reply, View
from wakeful.testing.wire.thoughts import Memory
from wakeful.testing.wire.thread import Thread
from wakeful.testing.wire.tokens import Counts

#: Characters of a streamed piece.
PIECE = 48
#: Characters of the conversation's name in ids.
SALT = 16
#: When every reply was made, as OpenAI spells it.
CREATED = 1_790_000_000


class Dialect(ABC):
    """One request and its answer in one wire format.

    The server calls, in this order: :meth:`check`, :meth:`view`, :meth:`begin`, :meth:`canon`,
    :meth:`diagnose`, :meth:`answer`, then :meth:`whole` or :meth:`frames`.

    Args:
        body: the request.
        memory: what the server remembers of earlier replies.

    Raises:
        FaultError: the request continues a response that is not known.
    """

    api: ClassVar[str]

    def __init__(self, body: Body, memory: Memory) -> None:
        self.body, self.memory = body, memory
        self.thread: Thread
        self.salt = ""
        self.reply = Reply()
        self.bill = Bill()
        self.output_tokens = self.thinking_tokens = 0

    @abstractmethod
    def check(self) -> None:
        """Refuse what the endpoint refuses.

        Raises:
            BadRequestError: says what.
            FaultError: refused with another status than 400.
        """

    @abstractmethod
    def canon(self) -> Canon:
        """Return the canonical prompt."""

    @abstractmethod
    def first_text(self) -> str:
        """Return the text of the first user message."""

    @abstractmethod
    def view(self) -> View:
        """Return the request as a scenario sees it."""

    @abstractmethod
    def build(self) -> None:
        """Make the answer out of ``reply`` and ``bill``."""

    @abstractmethod
    def whole(self) -> Body:
        """Return the answer as one object."""

    @abstractmethod
    def frames(self) -> list[bytes]:
        """Return the answer as the pieces of a stream."""

    @abstractmethod
    def trouble(self, kind: str, sent: int) -> bytes:
        """Return the piece with which a stream goes wrong.

        Args:
            kind: ``bad_json``, ``error_event`` or ``failed``.
            sent: pieces before it.
        """

    @staticmethod
    @abstractmethod
    def fault(error: FaultError) -> Body:
        """Return the body of an error."""

    def begin(self, thread: Thread, name: str) -> None:
        """Take ids from a conversation."""
        self.thread, self.salt = thread, re.sub(r"\W", "", name)[:SALT]

    def mint(self, prefix: str) -> str:
        """Return a new id."""
        return self.thread.mint(prefix, self.salt)

    def diagnose(self, previous: Canon | None, now: Canon) -> None:  # noqa: B027  # only one format has it
        """Compare the prompt with the one that the request says it continues."""

    def remember(self, meter: Meter, canon: Canon) -> None:  # noqa: B027  # only one format has it
        """Keep what a later request may refer to."""

    def answer(self, reply: Reply, bill: Bill, tokenizer: Counts | None) -> None:
        """Make the answer.

        Args:
            reply: what the model says.
            bill: what the prompt cost.
            tokenizer: counts the answer; without it, it counts as one token.
        """
        self.reply, self.bill = reply, bill
        calls = [call["tool"] + arguments(call) for call in reply.sent]
        said = "".join([reply.thinking, reply.redacted, reply.text, reply.refusal, *calls])
        self.output_tokens = max(1, tokenizer.count(said)) if tokenizer else 1
        thought = reply.thinking + reply.redacted
        self.thinking_tokens = tokenizer.count(thought) if tokenizer and thought else 0
        self.build()

    def usage_of(self, usage: Body) -> Body | None:
        """Return what is reported as usage; None if the reply leaves it out."""
        if self.reply.usage is False:
            return None
        return {**usage, **self.reply.usage} if isinstance(self.reply.usage, dict) else usage


def split(text: str, size: int = PIECE) -> list[str]:
    """Return a text in pieces, at least one."""
    return [text[i : i + size] for i in range(0, len(text), size)] or [""]


def event(kind: str, data: Any) -> bytes:
    """Return a named server-sent event."""
    return f"event: {kind}\ndata: {dumps(data)}\n\n".encode()


def arguments(call: Body) -> str:
    """Return the characters of a call's arguments that get through."""
    text = str(call["raw"]) if "raw" in call else dumps(call["args"])
    return text[: _limit(call, text)]


def is_cut(call: Body) -> bool:
    """Return whether the output limit ends the reply inside this call."""
    return bool(call.get("cut"))


def parsed(call: Body) -> Body:
    """Return a call's arguments as an object: all, or those that were complete before the cut."""
    if "raw" not in call and not is_cut(call):
        return dict(call["args"])
    text = arguments(call)
    kept: Body = {}
    for key, value in call["args"].items():
        if not text.startswith(dumps({**kept, key: value})[:-1]):
            break
        kept[key] = value
    return kept


def first_user(messages: list[Body]) -> str:
    """Return the text of the first user message."""
    for message in messages:
        if message.get("role") == "user":
            content = message.get("content")
            if isinstance(content, list):
                texts = [part.get("text", "") for part in content if isinstance(part, dict)]
                content = " ".join(text for text in texts if isinstance(text, str))
            return content or ""
    return ""


def _limit(call: Body, text: str) -> int:
    cut = call.get("cut")
    if cut is True:
        return len(text) // 2
    return len(text) if not cut else int(cut)
