"""The file of one contest: a record for each workload of its group."""

from typing import Any

from pydantic import model_validator

from workflows.records.schema import SCHEMA, ContestRecord, Record


class ContestFile(Record):
    """`contests/<group>/<replicate>.json`."""

    schema_version: int = SCHEMA
    contests: list[ContestRecord]

    @model_validator(mode="before")
    @classmethod
    def of_one_workload(cls, values: Any) -> Any:
        """Earlier files hold a single record itself."""
        alone = isinstance(values, dict) and "workload" in values
        return {"contests": [values]} if alone else values

    @property
    def duration_s(self) -> float:
        return sum(contest.duration_s for contest in self.contests)
