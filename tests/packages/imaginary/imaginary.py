"""JAX with an imaginary GPU: the second of several host devices, to which data have to be brought
and which works while Python goes on."""

from dataclasses import replace

from frameworks import jax
from frameworks.contract import Variant

FRAMEWORK = replace(
    jax.FRAMEWORK,
    name="imaginary",
    title="Imaginary",
    adapter="imaginary_adapter:ImaginaryAdapter",
    requirements="",
    variants={
        "default": Variant("JAX's", rebuilds=False),
        "trap-unsynchronised": jax.FRAMEWORK.variants["trap-unsynchronised"],
    },
    variables={**jax.FRAMEWORK.variables, "XLA_FLAGS": "--xla_force_host_platform_device_count=2"},
)
