"""What ``bench/workload.py`` is made of: tools and turns, the agent that carries state, playing, rows."""
