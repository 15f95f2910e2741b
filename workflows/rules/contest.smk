rule contest:
    input:
        data=lambda wildcards: expand(
            f"{HERE}/data/{{workload}}/dataset.json", workload=STUDY.groups[wildcards.group]
        ),
        probes=probed(FRAMEWORKS),
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
    # All cores, so that nothing runs beside a measurement.
    threads: lambda wildcards: workflow.cores or 1
    params:
        key=lambda wildcards: keys.contest_key(STUDY, wildcards.group),
        study=lambda wildcards: HERE,
    shell:
        "python -m workflows.measure.contest --study {params.study} --group {wildcards.group} "
        "--replicate {wildcards.replicate} --log {log}"
