"""An adapter that reads the clock and prints the time."""

from time import perf_counter

from flawed_adapters import Flawed


class HastyAdapter(Flawed):
    def trainer(self, workload, weights, variant):
        begin = perf_counter()
        trainer = super().trainer(workload, weights, variant)
        print("built within", perf_counter() - begin)
        return trainer
