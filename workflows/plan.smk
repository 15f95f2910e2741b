rule plan:
    output:
        f"{HERE}/plan.json",
    log:
        f"{HERE}/logs/plan.log",
    conda:
        "environment.yaml"
    params:
        configuration=json.dumps(config, sort_keys=True),
        command=command(),
        key=keys.plan_key(STUDY),
    shell:
        "python -m workflows.plan --configuration {params.configuration:q} "
        "--command {params.command:q} --out {output} 2>&1 | tee {log}"
