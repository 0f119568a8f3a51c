"""The benchmark: `python -m bench` measures the service from outside, beside raw SQLite and other programs, and prints one table.

Nothing here is part of the product: it starts `serve` and `worker` as a host would and asks over HTTP. Absolute times are those of
the machine; what is tracked is the ratio to the raw-SQLite or empty-request figure of the same run.
"""
