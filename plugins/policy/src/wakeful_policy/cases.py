"""``wakeful policy test``: a table of cases and the verdicts that they should get."""

from __future__ import annotations

import asyncio
import tomllib
from collections.abc import Mapping
from pathlib import Path

from attrs import asdict, field, frozen

from wakeful.app import App
from wakeful.cli.exits import Exit
from wakeful.cli.output import say, say_json
from wakeful.config import structure
from wakeful.types import ConfigError, Json, NotFoundError, Problem, nearest
from wakeful.types.json import DEPTH_LIMIT
from wakeful_policy.asking import agents, ask, moment
from wakeful_policy.settings import VERDICTS
from wakeful_policy.windows import check_reach


@frozen
class Case:
    """One case.

    Args:
        agent, action, args: the call.
        expect: the verdict that it should get.
        words: what the user said.
        tainted: as if the run had read outside text.
        at: when, such as ``2026-03-04T12:00`` (UTC), for rules with windows; empty = now.
    """

    agent: str
    action: str
    expect: str
    args: Mapping[str, Json] = field(factory=dict)
    words: str = ""
    tainted: bool = False
    at: str = ""

    def __attrs_post_init__(self) -> None:
        try:
            check_reach(moment(self.at))
        except ValueError as error:
            raise ValueError(f"at: {error}") from None
        if self.expect not in VERDICTS:
            raise ValueError(f"expect: {self.expect!r} is no verdict{nearest(self.expect, VERDICTS)}")


@frozen
class Cases:
    """A file of cases."""

    case: tuple[Case, ...] = ()


def load_cases(path: Path) -> tuple[Case, ...]:
    """Return the cases of a file.

    Raises:
        ConfigError: it cannot be read, or says something unknown.
    """
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except RecursionError:
        raise ConfigError([Problem(str(path), f"a value nests deeper than {DEPTH_LIMIT} levels")]) from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError([Problem(str(path), f"cannot be read: {error}")]) from None
    cases = structure(Cases, raw, str(path)).case
    if not cases:
        raise ConfigError([Problem(str(path), "holds no [[case]]")])
    return cases


async def _verdict(app: App, case: Case) -> str:
    words, tainted, now = case.words, case.tainted, moment(case.at)
    found = await ask(app, case.agent, case.action, dict(case.args), words=words, tainted=tainted, now=now)
    return found.verdict.verdict.name.lower()


def check_cases(file: Path, path: Path, *, as_json: bool) -> int:
    """Print which cases get another verdict than they should; 1 if one does.

    Raises:
        ConfigError: a file is wrong, or a case names what is not there.
    """
    cases = load_cases(path)

    async def work() -> list[str]:
        found, problems = list[str](), list[Problem]()
        async with agents(file) as app:
            for place, case in enumerate(cases):
                try:
                    found.append(await _verdict(app, case))
                except ConfigError as error:
                    where = f"{path}.case[{place}]"
                    problems += [Problem(f"{where}.{each.where}", each.what) for each in error.problems]
                except NotFoundError as error:
                    problems.append(Problem(f"{path}.case[{place}]", str(error)))
        if problems:
            raise ConfigError(problems)
        return found

    got = asyncio.run(work())
    wrong = [at for at, (case, verdict) in enumerate(zip(cases, got, strict=True)) if case.expect != verdict]
    if as_json:
        lines = [{**asdict(case), "got": verdict} for case, verdict in zip(cases, got, strict=True)]
        say_json({"cases": lines, "wrong": len(wrong)})
        return Exit.RUN_FAILED if wrong else Exit.OK
    for at in wrong:
        case = cases[at]
        what = f"{case.agent} {case.action} {dict(case.args)}"
        say(f"case {at + 1}: {what}: expected {case.expect}, got {got[at]}")
    say(f"{len(cases) - len(wrong)} of {len(cases)} cases get the verdict that they should")
    return Exit.RUN_FAILED if wrong else Exit.OK
