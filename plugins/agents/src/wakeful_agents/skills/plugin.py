"""The plugin: a static catalogue, a tool that loads a skill, and the lock on what a skill brings."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import field, frozen

from wakeful import ActionContext, ActionError, ActionResult, action, hookimpl
from wakeful.types import (
    Action,
    Fragment,
    Invocation,
    Judgement,
    Run,
    Section,
    Services,
    Verdict,
    near,
    nearest,
)
from wakeful_agents.skills.folders import FILE, Skill, read_skills

#: Place of the catalogue among the static sections: after the instructions.
ORDER = 60
LOADED = "loaded"


@frozen
class SkillsSettings:
    """Where the skills are."""

    folders: tuple[str, ...] = field(
        default=("skills",),
        metadata={
            "help": "folders of skills, or of several; relative ones start at the folder of wakeful.toml"
        },
    )
    output_trust: str = field(
        default="trusted",
        metadata={"help": "trust of what skills say: `trusted`, `semi_trusted` or `untrusted`"},
    )


class Skills:
    """Instructions that a model reads when it needs them."""

    Settings = SkillsSettings

    def __init__(self, settings: SkillsSettings, services: Services) -> None:
        """Read the folders.

        Raises:
            ConfigError: with everything that is wrong with them.
        """
        self._trust, self._services = settings.output_trust, services
        self._reported = set[str]()
        self._skills = read_skills(settings.folders, services.folder)
        self._locks: dict[str, tuple[str, ...]] = {}
        for skill in self._skills.values():
            for name in skill.actions:
                self._locks[name] = (*self._locks.get(name, ()), skill.name)

    @hookimpl
    def prompt_sections(self) -> Sequence[Section]:
        """Give the catalogue: names and descriptions, nothing that changes."""
        lines = [f"- {skill.name}: {skill.description}" for skill in self._skills.values()]
        head = "Skills. Before a task that one of them describes, read it with load_skill."
        return [Section("skills", ORDER, "\n".join([head, *lines]))]

    @hookimpl
    def tool_actions(self) -> Sequence[Action]:
        """Give the tool that loads a skill."""

        @action(effect="read", output_trust=self._trust)
        async def load_skill(ctx: ActionContext, name: str, file: str = "") -> ActionResult:
            """Read a skill of the catalogue; what it says applies from then on. Unlocks its actions.

            Args:
                ctx: the call.
                name: as the catalogue has it.
                file: one of the files that the skill names, instead of the skill itself.
            """
            skill = self._known(name)
            if file:
                return ActionResult(outputs={"text": _file(skill, file)})
            known = ctx.get(LOADED, [])
            if skill.name not in known:
                ctx.put(LOADED, sorted({*known, skill.name}))
            others = skill.files()
            outputs = {"skill": skill.body, **({"files": list(others)} if others else {})}
            unlocked = f"; unlocked: {', '.join(skill.actions)}" if skill.actions else ""
            return ActionResult(message=f"skill {skill.name}{unlocked}", outputs=outputs)

        return [load_skill]

    @hookimpl
    async def prompt_context(self, run: Run) -> Sequence[Fragment]:
        """Add nothing; say once which locks mean nothing: an action may come and go with its server."""
        known = self._services.catalogue(run)
        for name in sorted(self._locks.keys() - known.keys() - self._reported):
            self._reported.add(name)
            where = ", ".join(f"{skill}/{FILE}" for skill in self._locks[name])
            self._services.report(f"{where}: actions: no action is named {name!r} now{nearest(name, known)}")
        return ()

    @hookimpl
    def policy_verdict(self, run: Run, proposal: Invocation) -> Judgement | None:
        """Refuse an action whose skill has not been read; nothing declared changes for it."""
        skills = self._locks.get(proposal.action)
        if skills is None:
            return None
        loaded = run.state.get("skills", {}).get(LOADED, [])
        if any(skill in loaded for skill in skills):
            return None
        reason = f"{proposal.action} is locked; first load_skill({' or '.join(skills)})"
        return Judgement(Verdict.DENY, reason, code="SKILL_LOCKED")

    def _known(self, name: str) -> Skill:
        skill = self._skills.get(name)
        if skill is None:
            raise ActionError(
                "NO_SUCH_SKILL",
                f"there is no skill {name[:80]!r}",
                retryable=True,
                suggested=near(name, self._skills) or tuple(self._skills)[:5],
            )
        return skill


def _file(skill: Skill, name: str) -> str:
    """Return the text of a file of a skill; nothing outside of its folder is read."""
    try:
        text = skill.read(name)
    except ValueError as error:
        raise ActionError("UNREADABLE", f"{name[:80]} {error}") from None
    if text is None:
        files = skill.files()
        raise ActionError(
            "NO_SUCH_FILE",
            f"the skill {skill.name} has no file {name[:80]!r}",
            retryable=True,
            suggested=near(name, files) or files[:5],
        )
    return text
