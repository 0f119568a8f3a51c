"""Kills: the product's processes end by SIGKILL, at every commit and at random, and what was answered is still there.

boundaries.py goes through a fixed scenario once for every commit of it and both sides of that commit; storm.py runs real processes
under load and kills them at random. Both compare what they find with a model of what was answered. `python -m tests.crash` runs both.
"""
