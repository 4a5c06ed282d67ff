"""The loop: a turn from its input to its answer, recorded step by step."""
