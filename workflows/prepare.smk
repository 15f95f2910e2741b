rule prepare:
    input:
        plan=ancient(f"{HERE}/plan.json"),
    output:
        f"{HERE}/data/{{workload}}/dataset.json",
    log:
        f"{HERE}/logs/{{workload}}-prepare.log",
    conda:
        "environment.yaml"
    params:
        key=lambda wildcards: keys.dataset_key(STUDY, wildcards.workload),
    shell:
        "python -m workflows.prepare --plan {input.plan} --workload {wildcards.workload} "
        "2>&1 | tee {log}"
