rule reference:
    input:
        plan=ancient(f"{HERE}/plan.json"),
        data=f"{HERE}/data/{{workload}}/dataset.json",
    output:
        directory(f"{HERE}/certificates/{{workload}}/reference"),
    log:
        f"{HERE}/logs/{{workload}}-reference.log",
    conda:
        "environment.yaml"
    params:
        key=lambda wildcards: keys.certificate_key(
            STUDY, wildcards.workload, keys.reference_framework(STUDY)
        ),
    shell:
        "python -m workflows.certify --plan {input.plan} --workload {wildcards.workload} "
        "--reference --log {log}"


rule certify:
    input:
        plan=ancient(f"{HERE}/plan.json"),
        data=f"{HERE}/data/{{workload}}/dataset.json",
        reference=f"{HERE}/certificates/{{workload}}/reference",
    output:
        f"{HERE}/certificates/{{workload}}/{{framework}}.json",
    log:
        f"{HERE}/logs/{{workload}}-certificate-{{framework}}.log",
    conda:
        "environment.yaml"
    params:
        key=lambda wildcards: keys.certificate_key(STUDY, wildcards.workload, wildcards.framework),
    shell:
        "python -m workflows.certify --plan {input.plan} --workload {wildcards.workload} "
        "--framework {wildcards.framework} --log {log}"
