"""Another package's frameworks: the abacus with a flaw that breaks one rule of conformance.

The name of a framework is `flawed-` and the rule that it breaks, sometimes with the way.
"""

from frameworks.contract import Deviation, Framework, Variant

FLAWS = {
    "build": "flawed_adapters:Builds",
    "precision": "flawed_adapters:SinglePrecision",
    "precision-undeclared": "flawed_adapters:SinglePrecision",
    "variant": "flawed_adapters:AnyVariant",
    "device": "flawed_adapters:AnyDevice",
    "settings": "flawed_adapters:FewSettings",
    "settings-literal": "literal:WritesItsPrecisionDown",
    "read-back": "literal:WritesItsCompilationDown",
    "weights": "flawed_adapters:GivesItsOwnWeights",
    "batch": "flawed_adapters:KeepsTheBatch",
    "repeats": "flawed_adapters:DrawsNumbers",
    "repeats-restart": "flawed_adapters:RestartsTheWeightsOnly",
    "interleaving": "flawed_adapters:SharesWeights",
    "interleaving-optimiser": "flawed_adapters:SharesMoments",
    "memory": "flawed_adapters:KeepsTrainers",
    "first-loss": "flawed_training:AnotherLoss",
    "vocabulary": "flawed_training:AnotherEpsilon",
    "vocabulary-late": "flawed_training:RefusesLate",
    "vocabulary-crash": "flawed_training:Crashes",
    "refusal": "flawed_training:RefusesNamelessly",
    "fence": "flawed_training:NeverWaits",
    "fence-behind": "flawed_training:OneStepBehind",
    "asynchronous": "flawed_training:BlocksOnItsGpu",
    "threads": "flawed_training:ThreeThreads",
    "certificate": "flawed_training:ErrsLate",
    "loader-not-there": "flawed_loaders:NotThere",
    "loader": "flawed_loaders:AnotherOrder",
    "loader-memory": "flawed_loaders:OneMemory",
    "loader-kept": "flawed_loaders:Keeps",
    "loader-ahead": "flawed_loaders:FarAhead",
    "loader-workers": "flawed_loaders:OneWorker",
}


def __getattr__(name):
    """`FRAMEWORK_first_loss`, as the entry points name them."""
    rule = name.removeprefix("FRAMEWORK_").replace("_", "-")
    if rule == "source":
        return described(rule, "hasty:HastyAdapter")
    if rule == "last-bit":
        return described(rule, "flawed_adapters:RestartsNearly")
    if rule == "float32":
        return described(rule, "flawed_adapters:Float32Only", precisions=("float32",))
    if rule == "float32-declared":
        named = Deviation("optimiser.adam", "as Keras", 0.1, "adam-of-keras")
        more = {"precisions": ("float32",), "deviations": (named,)}
        return described(rule, "flawed_adapters:Float32Only", **more)
    if rule == "precision-undeclared":
        return described(rule, "flawed_adapters:SinglePrecision", precisions=("float32",))
    if rule == "loader-unnamed":
        return described(rule, "flawed_adapters:Flawed", loader=False)
    if rule in FLAWS:
        return described(rule, FLAWS[rule])
    raise AttributeError(name)


def described(rule, adapter, deviations=(), **more):
    return Framework(
        name=f"flawed-{rule}",
        title="Flawed",
        distributions=("flawed",),
        install="comes with the tests",
        adapter=adapter,
        variants={"default": Variant(f"breaks {rule}", deviations=deviations)},
        **{"loader": True, **more},
    )
