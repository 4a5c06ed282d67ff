"""However the network cuts a stream, and whichever line ends it uses, its events are the same."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.counts import examples
from wakeful_openai.sse import Decoder

LINE_ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])
TEXTS = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=12)


def decoded(pieces: list[bytes]) -> list[tuple[bytes, bytes]]:
    decoder = Decoder()
    events = [event for piece in pieces for event in decoder.feed(piece)]
    return [*events, *decoder.end()]


@given(st.lists(TEXTS.filter(bool), max_size=6), LINE_ENDS, st.lists(st.integers(0, 200), max_size=8))
@settings(max_examples=examples(2000), deadline=None)
def test_events_do_not_depend_on_cuts(texts: list[str], end: bytes, cuts: list[int]) -> None:
    stream = b"".join(
        b": comment%bevent: e%bdata: %b%b%b" % (end, end, text.encode(), end, end) for text in texts
    )
    places = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    pieces = [stream[a:b] for a, b in itertools.pairwise(places)]
    assert decoded(pieces) == [(b"e", text.encode()) for text in texts]
