rule contest:
    input:
        data=f"{HERE}/data/{{workload}}/dataset.json",
        probes=probed(FRAMEWORKS),
    output:
        f"{HERE}/contests/{{workload}}/{{replicate}}.parquet",
        f"{HERE}/contests/{{workload}}/{{replicate}}.json",
    log:
        f"{HERE}/logs/{{workload}}-{{replicate}}.log",
    # After the certificates, which have a higher priority, but not because of them: a
    # certificate that is redone says nothing about a measurement.
    priority: 0
    conda:
        "conda.yaml"
    # All cores, so that nothing runs beside a measurement.
    threads: lambda wildcards: workflow.cores or 1
    params:
        key=lambda wildcards: keys.contest_key(STUDY, wildcards.workload),
        study=lambda wildcards: HERE,
    shell:
        "python -m workflows.measure.contest --study {params.study} --workload {wildcards.workload} "
        "--replicate {wildcards.replicate} --log {log}"
