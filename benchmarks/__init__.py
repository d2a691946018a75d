"""Measurements of scorpio beside other servers. `run.py` is the entry; README.md says how to read the numbers."""
