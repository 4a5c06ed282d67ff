"""``db forget`` and ``db clean``: deleting what is no longer wanted."""

from __future__ import annotations

from tests.cli import Console, Wakeful


def test_a_conversation_is_forgotten_and_another_stays(toy: Console, wakeful: Wakeful) -> None:
    for conversation in ("c-one", "c-two"):
        assert wakeful("run", "desk", "Hello", "-c", conversation, "--quiet").code == 0
    done = wakeful("db", "forget", "c-one")
    assert (done.code, done.out) == (0, "conversation c-one: forgotten\n")
    left = wakeful("runs", "list", "--json").json["runs"]
    assert [run["conversation"] for run in left] == ["c-two"]
    again = wakeful("db", "forget", "c-twos")
    assert (again.code, again.errors) == (
        2,
        ["there is no conversation 'c-twos'; did you mean 'c-two'?"],
    )
    assert wakeful("db", "forget", "c-two", "--json").json == {"conversation": "c-two", "forgotten": True}
    assert wakeful("db", "check").code == 0


def test_contents_that_nobody_keeps_are_removed(toy: Console, wakeful: Wakeful) -> None:
    assert wakeful("run", "desk", "Hello", "--quiet").code == 0
    ref = "ab" * 32
    lost = toy.write(f"wakeful.db.files/ab/ab/{ref}", "left by a crash")
    assert wakeful("db", "clean").out == "0 contents removed\n"
    assert wakeful("db", "clean", "--grace", "0", "--json").json == {"removed": 1}
    assert not lost.exists()
