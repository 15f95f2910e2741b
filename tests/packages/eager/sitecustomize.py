"""Spares the processes of tests an import. Python imports this file at its start, and no other
`sitecustomize`.

Each optimiser of PyTorch imports the compiler, `torch._dynamo`, which takes as long as importing
PyTorch. This file skips that import until something else imports the compiler.
"""

import sys
from functools import partial, wraps
from importlib.abc import MetaPathFinder
from importlib.machinery import PathFinder


def compiler_imported():
    return "torch._dynamo" in sys.modules


def left_alone(original):
    """The decorator of functions that the compiler leaves alone."""

    def decorator(function=None, recursive=True):
        if function is None:
            return partial(decorator, recursive=recursive)
        marked = original(function, recursive)

        @wraps(function)
        def call(*arguments, **named):
            return (marked if compiler_imported() else function)(*arguments, **named)

        return call

    return decorator


def with_gradients(original):
    """The decorator of an optimiser's step, which has gradients only if they are asked for."""

    def decorator(step):
        marked = original(step)

        @wraps(step)
        def call(self, *arguments, **named):
            if compiler_imported():
                return marked(self, *arguments, **named)
            with sys.modules["torch"].set_grad_enabled(self.defaults["differentiable"]):
                return step(self, *arguments, **named)

        return call

    return decorator


DECORATORS = {
    "torch._compile": ("_disable_dynamo", left_alone),
    "torch.optim.optimizer": ("_use_grad_for_differentiable", with_gradients),
}


class Eager(MetaPathFinder):
    """Finds the two modules of PyTorch, and changes a decorator of each."""

    def find_spec(self, name, path=None, target=None):
        if name not in DECORATORS:
            return None
        spec = PathFinder.find_spec(name, path)
        execute, (decorator, changed) = spec.loader.exec_module, DECORATORS[name]

        def exec_module(module):
            execute(module)
            if original := getattr(module, decorator, None):  # PyTorch's own, and none of its API
                setattr(module, decorator, changed(original))

        spec.loader.exec_module = exec_module
        return spec


sys.meta_path.insert(0, Eager())
