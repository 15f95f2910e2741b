rule contest:
    input:
        data=lambda wildcards: expand(
            f"{HERE}/data/{{workload}}/dataset.json",
            workload=STUDY.groups[wildcards.group],
            machine=wildcards.machine,
        ),
        detections=lambda wildcards: detected(wildcards.machine, FRAMEWORKS),
    output:
        f"{HERE}/contests/{{group}}/{{replicate}}.parquet",
        f"{HERE}/contests/{{group}}/{{replicate}}.json",
    log:
        f"{HERE}/logs/{{group}}-{{replicate}}.log",
    # After the certificates, which have a higher priority, but not because of them: a
    # certificate that is redone says nothing about a measurement.
    priority: 0
    conda:
        "conda.yaml"
    threads: every_core
    resources:
        slurm_partition=asked("slurm_partition"),
        constraint=asked("constraint"),
        gres=asked("gres"),
        slurm_extra=asked("slurm_extra", whole=True),
    params:
        key=lambda wildcards: keys.contest_key(ON[wildcards.machine], wildcards.group),
        study=lambda wildcards: here(wildcards.machine),
    shell:
        COMMANDS["contest"]


# With `minutes`: how many replicates fit, by the time that the first contest of each group took.
checkpoint replicates:
    input:
        # A number stays as it was fixed, whatever is certified or measured again later.
        ancient(expand(f"{HERE}/contests/{{group}}/1.json", group=STUDY.groups, allow_missing=True)),
        ancient([path for workload in STUDY.workloads for path in certificates(workload)]),
    output:
        update(f"{HERE}/replicates.json"),
    log:
        f"{HERE}/logs/replicates.log",
    conda:
        "conda.yaml"
    params:
        key=lambda wildcards: content_hash(
            [STUDY.minutes, STUDY.replicates, contests_key(ON[wildcards.machine])]
        ),
        study=lambda wildcards: here(wildcards.machine),
    shell:
        COMMANDS["replicates"]
