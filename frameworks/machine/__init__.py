"""The machine's own speed, which no framework changes: two small computations in NumPy."""

from frameworks.contract import Framework, Variant

FRAMEWORK = Framework(
    name="machine",
    title="Machine",
    distributions=("numpy",),
    install="comes with samestep",
    adapter="frameworks.machine.adapter:MachineAdapter",
    variants={
        "product": Variant("a float32 matrix product that fits into the caches", rebuilds=False),
        "stream": Variant("a = b + s * c over arrays larger than the caches", rebuilds=False),
    },
    devices=("cpu",),
    # The adapter splits the work over threads of its own, on any BLAS and without idle spinning.
    variables=dict.fromkeys(
        ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"),
        "1",
    ),
)
