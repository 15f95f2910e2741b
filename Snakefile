# samestep: the same training step, timed in every framework.
#
#   snakemake --cores 1                                     the default study
#   snakemake --cores 1 --configfile config/smoke.yaml      a small one, to see it work
#   snakemake --workflow-profile profiles/slurm --configfile mine.yaml   on a cluster

from snakemake.utils import min_version

min_version("9.10")


include: "workflows/rules/screen.smk"


configfile: f"{workflow.basedir}/config/study.yaml"


include: "workflows/rules/common.smk"
include: "workflows/rules/environments.smk"
include: "workflows/rules/detect.smk"
include: "workflows/rules/prepare.smk"
include: "workflows/rules/certify.smk"
include: "workflows/rules/contest.smk"
include: "workflows/rules/report.smk"


localrules:
    all,


# What takes seconds, or needs the internet, need not wait in a queue.
if NODES:

    localrules:
        environment,
        prepare,
        replicates,
        collect,
        report,
        failures,


rule all:
    default_target: True
    input:
        expand([f"{HERE}/complete", *NUMBER], machine=MACHINES),
