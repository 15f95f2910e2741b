# samestep: the same training step, timed in every framework.
#
#   snakemake --cores 1                                     the default study
#   snakemake --cores 1 --configfile config/smoke.yaml      a small one, to see it work

from snakemake.utils import min_version

min_version("9.10")


configfile: f"{workflow.basedir}/config/study.yaml"


include: "workflows/common.smk"
include: "workflows/environments.smk"
include: "workflows/probe.smk"
include: "workflows/prepare.smk"
include: "workflows/certify.smk"
include: "workflows/contest.smk"
include: "workflows/report.smk"


localrules:
    all,


rule all:
    default_target: True
    input:
        f"{HERE}/complete",
