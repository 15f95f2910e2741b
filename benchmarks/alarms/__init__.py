"""Does the certificate ever refuse a correct network? Random networks, in every framework.

`python -m benchmarks.alarms --networks 1000` draws networks from the vocabulary and certifies them.
"""
