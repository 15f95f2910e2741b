"""PyTorch's own adapter. A defect is planted into each trainer after it is built."""

from functools import cache

from frameworks.contract import Trainer
from frameworks.pytorch import settings
from frameworks.pytorch.adapter import PyTorchAdapter
from frameworks.pytorch.trainer import PyTorchTrainer
from frameworks.workloads import Weights, Workload
from planted.registry import DEFECTS

# It takes 0.3 s, and is about the process and not about a trainer.
settings.memory = cache(settings.memory)


class PlantedPyTorch(PyTorchAdapter):
    def trainer(self, workload: Workload, weights: Weights, variant: str) -> Trainer:
        defect = DEFECTS.get(("planted", variant))
        base = defect.base if defect else "default"
        trainer = PyTorchTrainer(workload, weights, self._conditions, base)
        if defect:
            trainer.workload = workload
            defect.plant(trainer)
            trainer._network.load(weights)  # once more, as the defect would have it
        return trainer
