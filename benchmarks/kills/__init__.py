"""Whether a study that is killed loses anything, or leaves anything behind.

`python -m benchmarks.kills --times 40` runs small studies and kills, at random moments, one of
their processes, all of them, or presses Ctrl-C.
"""
