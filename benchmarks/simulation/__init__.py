"""Is the report's method right? Whole studies with a known truth, drawn from a noise model that
is fitted to real records, and analysed by the code that analyses real ones.

`python -m benchmarks.simulation fit FOLDER...`
`python -m benchmarks.simulation validate`
"""
