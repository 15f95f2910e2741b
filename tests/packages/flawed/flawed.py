"""Another package's frameworks: the abacus with a flaw that breaks one rule of conformance.

The name of a framework is `flawed-` and the rule that it breaks, sometimes with the way.
"""

from frameworks.contract import Framework, Variant

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
    "memory": "flawed_adapters:KeepsTrainers",
    "first-loss": "flawed_training:AnotherLoss",
    "vocabulary": "flawed_training:AnotherEpsilon",
    "vocabulary-late": "flawed_training:RefusesLate",
    "vocabulary-crash": "flawed_training:Crashes",
    "vocabulary-nameless": "flawed_training:RefusesNamelessly",
    "fence": "flawed_training:NeverWaits",
    "asynchronous": "flawed_training:BlocksOnItsGpu",
    "threads": "flawed_training:ThreeThreads",
    "certificate": "flawed_training:ErrsLate",
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
    if rule == "precision-undeclared":
        return described(rule, "flawed_adapters:SinglePrecision", precisions=("float32",))
    if rule in FLAWS:
        return described(rule, FLAWS[rule])
    raise AttributeError(name)


def described(rule, adapter, **more):
    return Framework(
        name=f"flawed-{rule}",
        title="Flawed",
        distributions=("flawed",),
        install="comes with the tests",
        adapter=adapter,
        variants={"default": Variant(f"breaks {rule}")},
        **more,
    )
