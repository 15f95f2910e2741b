rule prepare:
    output:
        f"{HERE}/data/{{workload}}/dataset.json",
    log:
        f"{HERE}/logs/{{workload}}-prepare.log",
    priority: 20
    conda:
        "conda.yaml"
    threads: lambda wildcards: 1 if NODES else workflow.cores or 1
    params:
        key=lambda wildcards: keys.dataset_key(STUDY, wildcards.workload),
        study=lambda wildcards: here(wildcards.machine),
    shell:
        COMMANDS["prepare"]
