"""Actions: declaring them, checking their arguments, describing them to a model, running them."""
