rule contest:
    input:
        plan=ancient(f"{HERE}/plan.json"),
        data=f"{HERE}/data/{{workload}}/dataset.json",
        # Whether it is the same computation is known before any time is spent on timing.
        certificates=lambda wildcards: ancient(certificates(wildcards.workload)),
    output:
        f"{HERE}/contests/{{workload}}/{{replicate}}.parquet",
        f"{HERE}/contests/{{workload}}/{{replicate}}.json",
    log:
        f"{HERE}/logs/{{workload}}-{{replicate}}.log",
    conda:
        "environment.yaml"
    # All of them, so that nothing runs beside a measurement.
    threads: lambda wildcards: workflow.cores or 1
    params:
        key=lambda wildcards: keys.contest_key(STUDY, wildcards.workload),
    shell:
        "python -m workflows.contest --plan {input.plan} --workload {wildcards.workload} "
        "--replicate {wildcards.replicate} --log {log}"
