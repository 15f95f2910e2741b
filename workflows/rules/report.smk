report: "captions/study.rst"


rule collect:
    input:
        machine_records,
    output:
        expand(f"{REPORT}/machines/{{{{machine}}}}/{{file}}", file=FILES),
    log:
        f"{here(MACHINES[0])}/logs/collect-{{machine}}.log",
    wildcard_constraints:
        machine="[^/]+",  # perhaps another's, which lies beside
    conda:
        "conda.yaml"
    params:
        folder=lambda wildcards: f"results/{wildcards.machine}/{STUDY.study}",
        out=lambda wildcards: f"{REPORT}/machines/{wildcards.machine}",
        asked=content_hash([command(), STUDY.model_dump(mode="json")]),
        code=files_hash("workflows/stages/collect.py", "workflows/records"),
    shell:
        COMMANDS["collect"]


rule report:
    input:
        report_inputs,
    output:
        report(
            f"{REPORT}/report.html",
            category="Report",
            labels={"name": "report", "shows": "The whole report on one page"},
            caption="captions/report.rst",
        ),
        f"{REPORT}/report.md",
        report(
            directory(f"{REPORT}/figures"),
            patterns=["{figure,(?:(?!-dark)[^/])+}.svg"],
            category="Figures",
            labels=lambda wildcards: shown("fig", wildcards.figure),
            caption="captions/figure.rst",
        ),
        report(
            directory(f"{REPORT}/tables"),
            patterns=["{table,[^/]+}.csv"],
            category="Tables",
            labels=lambda wildcards: shown("table", wildcards.table),
            caption="captions/table.rst",
        ),
    log:
        f"{here(MACHINES[0])}/logs/report.log",
    conda:
        "conda.yaml"
    params:
        folders=lambda wildcards, input: sorted({str(Path(path).parent) for path in input}),
        out=lambda wildcards, output: str(Path(output[0]).parent),
        code=files_hash("analysis", *Path(workflow.basedir).glob("analysis/report/templates/*")),
    shell:
        COMMANDS["report"]


rule failures:
    input:
        report=f"{REPORT}/report.html",
        detections=lambda wildcards: detected(wildcards.machine, FRAMEWORKS),
        contests=lambda wildcards: contests(wildcards.machine, ".json"),
    output:
        touch(f"{HERE}/complete"),
    log:
        f"{HERE}/logs/failures.log",
    conda:
        "conda.yaml"
    params:
        study=lambda wildcards: here(wildcards.machine),
    shell:
        COMMANDS["failures"]
