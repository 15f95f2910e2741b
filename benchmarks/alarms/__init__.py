"""Whether the certificate ever refuses what is right: random networks, in every framework.

`python -m benchmarks.alarms --networks 1000` draws networks from the vocabulary and certifies them.
"""
