"""The command of each rule, for Snakemake and for `workflows.stages.run`, which does without it.

`params`, `wildcards` and `log` are those of the rule.
"""

GUARDED = "python -m workflows.machine.guardian "
STUDY = " --study {params.study}"

COMMANDS = {
    # A failed build becomes a row of the report: the command succeeds, and uv's output is in the
    # log.
    "environment": f"{GUARDED}workflows.environments.stage{STUDY}"
    " --framework {wildcards.framework} --attempt {params.attempt}",
    "detect": f"{GUARDED}workflows.stages.detect{STUDY}"
    " --framework {wildcards.framework} --log {log}",
    "prepare": f"{GUARDED}workflows.stages.prepare{STUDY}"
    " --workload {wildcards.workload} --log {log}",
    "reference": f"{GUARDED}workflows.certify.stage{STUDY}"
    " --workload {wildcards.workload} --reference --log {log}",
    "certify": f"{GUARDED}workflows.certify.stage{STUDY}"
    " --workload {wildcards.workload} --framework {wildcards.framework} --log {log}",
    "contest": f"{GUARDED}workflows.measure.contest{STUDY}"
    " --group {wildcards.group} --replicate {wildcards.replicate} --log {log}",
    "replicates": f"{GUARDED}workflows.stages.replicates{STUDY} --log {{log}} >/dev/null",
    "collect": f"{GUARDED}workflows.stages.collect"
    " {params.folder:q} --out {params.out:q} --log {log:q}",
    "report": f"{GUARDED}analysis {{params.folders:q}} --out {{params.out:q}} 2>&1 | tee {{log:q}}",
    "failures": f"{GUARDED}workflows.stages.failures{STUDY} 2>&1 | tee {{log}}",
}
