# samestep: the same training step, timed in every framework.
#
#   snakemake --cores 1                                     the default study
#   snakemake --cores 1 --configfile config/smoke.yaml      a small one, to see it work

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


rule all:
    default_target: True
    input:
        f"{HERE}/complete",
        NUMBER,
