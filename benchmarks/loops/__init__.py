"""The fastest loops that we can write in each framework, timed beside `tuned`.

`PYTHONPATH=benchmarks/loops/packages snakemake --cores 1 --configfile benchmarks/loops/loops.yaml`

Users would not write this code, which is made for the two networks of the default study.
docs/why.md has the result, which `python -m benchmarks.loops` prints.
"""
