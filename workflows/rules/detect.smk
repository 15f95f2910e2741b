rule detect:
    input:
        lambda wildcards: environments([wildcards.framework]),
    output:
        f"{HERE}/probes/{{framework}}.json",
    log:
        f"{HERE}/logs/detect-{{framework}}.log",
    priority: 20
    conda:
        "conda.yaml"
    params:
        key=lambda wildcards: keys.probe_key(STUDY, wildcards.framework),
        study=lambda wildcards: HERE,
    shell:
        "python -m workflows.machine.guardian workflows.stages.detect --study {params.study} --framework {wildcards.framework} --log {log}"
