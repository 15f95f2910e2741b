"""TensorFlow's own adapter. A defect is planted into each trainer before it is traced."""

from functools import cache

from frameworks.contract import Trainer
from frameworks.tensorflow import settings
from frameworks.tensorflow.adapter import TensorFlowAdapter
from frameworks.tensorflow.trainer import TensorFlowTrainer
from frameworks.workloads import Weights, Workload
from planted.registry import DEFECTS

settings.memory = cache(settings.memory)  # about the process, not about a trainer


class PlantedTensorFlow(TensorFlowAdapter):
    def trainer(self, workload: Workload, weights: Weights, variant: str) -> Trainer:
        defect = DEFECTS.get(("planted-tensorflow", variant))
        base = defect.base if defect else "tuned"
        trainer = TensorFlowTrainer(workload, weights, self._conditions, base)
        if defect:
            trainer.workload = workload
            defect.plant(trainer)
            trainer._load(weights)
        return trainer
