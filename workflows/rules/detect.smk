rule detect:
    input:
        lambda wildcards: environments(wildcards.machine, [wildcards.framework]),
    output:
        f"{HERE}/detections/{{framework}}.json",
    log:
        f"{HERE}/logs/detect-{{framework}}.log",
    priority: 20
    conda:
        "conda.yaml"
    threads: lambda wildcards: every_core(wildcards) if wildcards.machine in NODES else 1
    resources:
        slurm_partition=asked("slurm_partition"),
        constraint=asked("constraint"),
        gres=asked("gres"),
        slurm_extra=asked("slurm_extra"),
    params:
        key=lambda wildcards: keys.detection_key(ON[wildcards.machine], wildcards.framework),
        study=lambda wildcards: here(wildcards.machine),
    shell:
        COMMANDS["detect"]
