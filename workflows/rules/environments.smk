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
        attempt=lambda wildcards: attempt(Folders(Path(HERE)), wildcards.framework),
        study=lambda wildcards: HERE,
    # One that cannot be built is a row of the report: the command then succeeds, and the log has
    # what the installer said.
    shell:
        "python -m workflows.environments.stage --study {params.study} --framework {wildcards.framework} "
        "--attempt {params.attempt}"
