"""The fairness checklist leaves nothing out."""

import re
from pathlib import Path

from analysis.findings.fairness.checklist import BY_SETTING, CHECKLIST, HANDLED
from frameworks.contract import SETTINGS
from frameworks.workloads.optimisers import OPTIMISERS
from workflows.worker.probes import QUESTIONS

LIST = Path(__file__).with_name("fairness-checklist.md").read_text()

# The rows of the list that each item of the checklist answers.
ROWS = {
    "numbers of the optimiser": ["SGD, Adagrad", "learning-rate dtype"],
    "first update": ["SGD, Adagrad"],
    "second update": ["SGD, Adagrad"],
    "optimiser's epsilon": ["Adam", "RMSprop"],
    "initial weights": ["dense / conv init"],
    "loss": ["loss"],
    "gradient of the input": ["gradients of the input"],
    "mode": ["train / inference mode"],
    "batch normalisation": ["batch norm"],
    "running variance": ["batch norm"],
    "ReLU and pooling": ["ReLU before or after pooling"],
    "SAME padding with stride 2": ["`SAME` padding, stride 2"],
    "precision of weights": ["float64 input"],
    "reduced products": ["TF32"],
    "denormals on the processor": ["denormals on CPU"],
    "threads": ["CPU threads"],
    "threads at work": ["CPU threads"],
    "layout of images": ["layout"],
    "compilation": ["compilation"],
    "cuDNN autotune": ["cuDNN autotune"],
    "libraries on the processor": ["oneDNN"],
    "GPU memory": ["GPU memory"],
}

ABSENT = {"layer norm eps"}  # not in the vocabulary of layers


def rows() -> list[str]:
    table = re.findall(r"^\| (.*?) \|", LIST, re.M)
    return table[1:]  # without the heading


def test_every_row_of_the_list_is_an_item_or_handled_or_cannot_occur() -> None:
    answered = {row for item in CHECKLIST for row in ROWS.get(item.title, [])}
    assert set(ROWS) <= {item.title for item in CHECKLIST}
    assert len(rows()) > 20
    assert {*answered, *HANDLED, *ABSENT} == set(rows())
    assert not {*HANDLED, *ABSENT} & answered


def test_every_answer_belongs_to_an_item() -> None:
    numbers = {name for kind in OPTIMISERS.values() for name in vars(kind())}
    # what adapters answer beyond what they must
    beside = {"device", "freed_memory", "huge_pages", "max_pooling", "weights_memory"}
    assert {*SETTINGS, *QUESTIONS, *numbers, *beside} == set(BY_SETTING)
    assert len(BY_SETTING) == sum(len(item.settings) for item in CHECKLIST)
    assert not set(SETTINGS) & set(QUESTIONS)


def test_no_title_is_there_twice() -> None:
    assert len({item.title for item in CHECKLIST}) == len(CHECKLIST)
