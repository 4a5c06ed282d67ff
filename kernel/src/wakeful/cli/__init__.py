"""The command line. ``main.py`` starts it; each command's own module is imported when it is called."""
