"""Does a changed configuration or record ever pass the checks, or cause a traceback?

`python -m benchmarks.fuzz --cases 100000` changes configurations and a study's records at random.
"""
