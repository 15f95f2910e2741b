"""Does a study that is killed lose anything, or leave anything behind?

`python -m benchmarks.kills --times 40` runs small studies. At random moments it kills one of their
processes or all of them, or presses Ctrl-C.
"""
