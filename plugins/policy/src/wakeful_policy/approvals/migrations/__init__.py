"""Revisions of the tables of approvals."""
