"""What ``bench/overhead.py`` is made of: the workload, the bare loops, wakeful's own."""
