"""Approvals: what waits for a person, decided once, by somebody who may."""

from wakeful_policy.approvals.plugin import ApprovalsPlugin
from wakeful_policy.approvals.settings import ApprovalsSettings

__all__ = ["ApprovalsPlugin", "ApprovalsSettings"]
