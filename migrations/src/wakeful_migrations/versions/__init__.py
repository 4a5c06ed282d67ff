"""The revisions of the kernel's tables, oldest first by number."""
