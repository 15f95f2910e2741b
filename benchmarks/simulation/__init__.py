"""How often is the report right? Studies with a known true ratio, drawn from recorded noise and
judged by the code that judges real ones.

`python -m benchmarks.simulation`
"""
