"""The plugin: every call gets the verdict of the rule that counts, or of the default."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from wakeful.hookspecs import hookimpl
from wakeful.tools.schemas import closed, known_properties
from wakeful.types import Action, AgentView, Invocation, Json, Judgement, Run, Services, nearest
from wakeful_policy.rules import Known, Rules
from wakeful_policy.settings import PolicySettings

#: Actions that one warning names.
NAMED = 8


class Policy:
    """Judges calls by the rules in the file. Agents never see them, nor can they change them.

    Args:
        settings: see :class:`PolicySettings`.
        services: what the kernel does for the plugin.
    """

    Settings = PolicySettings

    def __init__(self, settings: PolicySettings, services: Services) -> None:
        self._services, self._settings = services, settings
        self._rules = Rules(settings.rules)
        self._added: Sequence[Json] = ()
        self._with_added = self._rules

    def rules(self, added: Sequence[Json] = ()) -> Rules:
        """Return the rules of the file with those that people have added."""
        if not added:
            return self._rules
        if added is not self._added and added != self._added:
            self._with_added = Rules(self._settings.rules, added)
        self._added = added
        return self._with_added

    @hookimpl
    def policy_verdict(self, run: Run, proposal: Invocation, action: Action) -> Judgement:
        """Return the verdict of the most specific rule, or of the default.

        Raises:
            LookupError: the rules that people have added cannot be read, so nobody knows what they say.
        """
        if run.rules is None:
            raise LookupError("the rules that people have added cannot be read")
        return self.rules(run.rules).judgement(action, proposal.args, run.now)

    @hookimpl
    def agent_warnings(self, agent: AgentView, actions: Mapping[str, Action]) -> Sequence[str]:
        """Name rules about no action or argument, and those that ask for a review in vain."""
        found = []
        for known in self._rules.all:
            about = [each for each in actions.values() if known.names(each)]
            found += _unknown_arguments(known, about)
            if not about:
                hint = nearest(known.exact, actions) if known.exact else ""
                found.append(
                    f"rule {known.number} ({known.rule.about}) is about no action of this agent{hint}"
                )
        return found if agent.reviewed else [*found, *self._unreviewed(agent, actions)]

    def _unreviewed(self, agent: AgentView, actions: Mapping[str, Action]) -> list[str]:
        """Return what becomes of calls that rules send to a review where no plugin reviews."""
        now = "a person is asked" if agent.people else "they are denied, as no plugin stores approvals"
        found = []
        for known, names in self._rules.reviewed(actions):
            more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
            which = ", ".join(names[:NAMED]) + more
            found.append(
                f"rule {known.number} ({known.rule.about}) sends calls of {which} to a review, and no plugin "
                f"reviews: {now}"
            )
        return found


def _unknown_arguments(known: Known, about: Sequence[Action]) -> list[str]:
    """Return which conditions of a rule are on arguments that none of the actions takes that it is about."""
    schemas = [closed(action.schema or {}, root=True) for action in about]
    takes = {name for schema in schemas for name in known_properties(schema)}
    if not about or any(map(_takes_others, schemas)):
        return []
    return [
        f"rule {known.number} ({known.rule.about}) has a condition on {name!r}, an argument of no action "
        f"that it is about{nearest(name, takes)}"
        for name in sorted(set(known.rule.args) - takes)
    ]


def _takes_others(schema: Mapping[str, Json]) -> bool:
    """Whether an action takes arguments that its schema does not name."""
    rest = schema.get("additionalProperties", schema.get("unevaluatedProperties"))
    return rest is not False or bool(schema.get("patternProperties"))
