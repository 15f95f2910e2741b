rule environment:
    output:
        f"{HERE}/environments/{{framework}}.json",
    log:
        f"{HERE}/logs/environment-{{framework}}.log",
    priority: 30
    conda:
        "conda.yaml"
    params:
        key=lambda wildcards: environment(wildcards.framework).key,
        attempt=lambda wildcards: attempt(folders_of(wildcards.machine), wildcards.framework),
        study=lambda wildcards: here(wildcards.machine),
    shell:
        COMMANDS["environment"]
