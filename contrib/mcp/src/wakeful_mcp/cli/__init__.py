"""The command ``wakeful mcp``."""
