"""Alembic environment and the kernel's revisions for wakeful."""
