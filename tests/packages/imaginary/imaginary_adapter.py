"""The adapter of JAX on another host device, which tells if anything is left on the first one."""

from dataclasses import replace

import jax

from frameworks.jax.adapter import JaxAdapter


class ImaginaryAdapter(JaxAdapter):
    def __init__(self, conditions):
        super().__init__(replace(conditions, device="cpu"))
        self._device = jax.devices("cpu")[conditions.device == "gpu"]
        jax.config.update("jax_default_device", self._device)

    def trainer(self, workload, weights, variant):
        made = super().trainer(workload, weights, variant)
        read = made.weights

        def located():
            for array in jax.tree.leaves((made._parameters, made._state, made._batch)):
                assert array.devices() == {self._device}, f"{array.devices()}, not {self._device}"
            return read()

        made.weights = located
        return made
