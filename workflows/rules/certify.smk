rule reference:
    input:
        data=f"{HERE}/data/{{workload}}/dataset.json",
        detections=lambda wildcards: detected(
            wildcards.machine, reference_candidates(wildcards.machine)
        ),
    output:
        directory(f"{HERE}/certificates/{{workload}}/reference"),
    log:
        f"{HERE}/logs/{{workload}}-reference.log",
    priority: 10
    conda:
        "conda.yaml"
    threads: every_core
    resources:
        slurm_partition=asked("slurm_partition"),
        constraint=asked("constraint"),
        gres=asked("gres"),
        slurm_extra=asked("slurm_extra"),
    params:
        key=lambda wildcards: keys.certificate_key(
            ON[wildcards.machine],
            wildcards.workload,
            keys.reference_framework(ON[wildcards.machine]),
        ),
        study=lambda wildcards: here(wildcards.machine),
    shell:
        COMMANDS["reference"]


rule certify:
    input:
        data=f"{HERE}/data/{{workload}}/dataset.json",
        reference=f"{HERE}/certificates/{{workload}}/reference",
        detections=lambda wildcards: detected(wildcards.machine, [wildcards.framework]),
    output:
        f"{HERE}/certificates/{{workload}}/{{framework}}.json",
    log:
        f"{HERE}/logs/{{workload}}-certificate-{{framework}}.log",
    priority: 10
    conda:
        "conda.yaml"
    threads: every_core
    resources:
        slurm_partition=asked("slurm_partition"),
        constraint=asked("constraint"),
        gres=asked("gres"),
        slurm_extra=asked("slurm_extra"),
    params:
        key=lambda wildcards: keys.certificate_key(
            ON[wildcards.machine], wildcards.workload, wildcards.framework
        ),
        study=lambda wildcards: here(wildcards.machine),
    shell:
        COMMANDS["certify"]
