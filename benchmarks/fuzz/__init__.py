"""Whether a changed configuration or record ever gets past the checks, or brings a traceback.

`python -m benchmarks.fuzz --cases 100000` changes configurations and a study's records at random.
"""
