rule reference:
    input:
        data=f"{HERE}/data/{{workload}}/dataset.json",
        probes=probed(reference_candidates()),
    output:
        directory(f"{HERE}/certificates/{{workload}}/reference"),
    log:
        f"{HERE}/logs/{{workload}}-reference.log",
    priority: 10
    conda:
        "conda.yaml"
    threads: lambda wildcards: workflow.cores or 1
    params:
        key=lambda wildcards: keys.certificate_key(
            STUDY, wildcards.workload, keys.reference_framework(STUDY)
        ),
        study=lambda wildcards: HERE,
    shell:
        "python -m workflows.machine.guardian workflows.certify.stage --study {params.study} --workload {wildcards.workload} "
        "--reference --log {log}"


rule certify:
    input:
        data=f"{HERE}/data/{{workload}}/dataset.json",
        reference=f"{HERE}/certificates/{{workload}}/reference",
        probe=lambda wildcards: probed([wildcards.framework]),
    output:
        f"{HERE}/certificates/{{workload}}/{{framework}}.json",
    log:
        f"{HERE}/logs/{{workload}}-certificate-{{framework}}.log",
    priority: 10
    conda:
        "conda.yaml"
    threads: lambda wildcards: workflow.cores or 1
    params:
        key=lambda wildcards: keys.certificate_key(STUDY, wildcards.workload, wildcards.framework),
        study=lambda wildcards: HERE,
    shell:
        "python -m workflows.machine.guardian workflows.certify.stage --study {params.study} --workload {wildcards.workload} "
        "--framework {wildcards.framework} --log {log}"
