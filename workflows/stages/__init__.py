"""The short stages: detect frameworks, prepare data, fix the number of replicates, collect records,
set failures aside; the command of every rule, and a run of all of them without Snakemake."""
