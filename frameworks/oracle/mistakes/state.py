"""What must be forgotten at a restart and is not, and weights that are not what they seem."""

from frameworks.oracle.mistakes.mistake import mistake
from frameworks.oracle.optimisers import State
from frameworks.oracle.trainer import TruthTrainer
from frameworks.workloads import Weights, Workload

RESTART = "Let restart() set all of the optimiser's state to zero, its step count too."


class Kept(TruthTrainer):
    """Something of the optimiser's state outlives a restart."""

    def __init__(self, workload: Workload, weights: Weights) -> None:
        self.load(weights)
        self.states = {name: State(w) for name, w in self.parameters.items()}
        self.workload = workload

    def forget(self) -> None:
        for name, old in self.states.items():
            fresh = State(self.parameters[name])
            self.keep(old, fresh)
            self.states[name] = fresh

    def keep(self, old: State, fresh: State) -> None:
        raise NotImplementedError


@mistake("state-kept", "keeps its optimiser's state at a restart", RESTART)
class StateKept(Kept):
    def keep(self, old: State, fresh: State) -> None:
        vars(fresh).update(vars(old))


@mistake("step-count-kept", "goes on counting Adam's steps at a restart", RESTART)
class CountKept(Kept):
    def keep(self, old: State, fresh: State) -> None:
        fresh.t = old.t


@mistake("averages-kept", "keeps its optimiser's averages at a restart, but not the count", RESTART)
class AveragesKept(StateKept):
    def keep(self, old: State, fresh: State) -> None:
        super().keep(old, fresh)
        fresh.t = 0


@mistake(
    "weights-kept",
    "does not load the weights at a restart",
    "Let restart() load the weights it is given.",
)
class WeightsKept(TruthTrainer):
    def restart(self, weights: Weights) -> None:
        if not hasattr(self, "parameters"):
            self.load(weights)
        self.forget()


@mistake(
    "restart-ignored",
    "does nothing at a restart",
    "Let restart() load the weights it is given, and forget the optimiser's state.",
)
class Ignored(TruthTrainer):
    def restart(self, weights: Weights) -> None:
        if not hasattr(self, "parameters"):
            super().restart(weights)


@mistake(
    "weights-read-once",
    "trains, but whose weights() are always those it was given",
    "Read the weights back from the running framework at each call.",
)
class ReadOnce(TruthTrainer):
    def load(self, weights: Weights) -> None:
        super().load(weights)
        self.given = super().weights()

    def weights(self) -> Weights:
        return self.given
