"""The fastest loops that we can write in each framework, timed beside its `tuned`.

`PYTHONPATH=benchmarks/loops/packages snakemake --cores 1 --configfile benchmarks/loops/loops.yaml`

Their code is none that a user would write, and they train nothing but the two networks of the
default study. docs/why.md has the result, which `python -m benchmarks.loops` prints.
"""
