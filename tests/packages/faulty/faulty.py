"""Another package's framework: the abacus with a fault, one variant for each kind.

`OUTCOMES` says what a contest must make of each: the contender's status and words of its reason.
`LOADERS` and `OPERATIONS` say it of what only other studies ask for. The faults themselves are in
`faults.py`, which only a worker imports.
"""

from frameworks.contract import Framework, Variant

OK, FAILED, MISSING = "ok", "failed", "missing"

OUTCOMES = {
    "none": (OK, ""),
    # returns
    "loss-none": (FAILED, "loss() gave NoneType"),
    "loss-text": (FAILED, "loss() gave str"),
    "loss-list": (FAILED, "loss() gave list"),
    "loss-complex": (FAILED, "loss() gave complex"),
    "loss-vast": (FAILED, "loss() gave int"),
    "loss-raises": (FAILED, "ZeroDivisionError: in a float"),
    "loss-nan": (OK, ""),
    "loss-infinite": (OK, ""),
    "loss-nearly-infinite": (OK, ""),
    "settings-none": (FAILED, "settings() gave NoneType"),
    "settings-nested": (FAILED, "settings() gave blas as dict"),
    "settings-numbered": (FAILED, "settings() names a setting by int"),
    "settings-many": (FAILED, "settings() gave 1000"),
    "settings-few": (FAILED, "settings() lacks"),
    "settings-nan": (OK, ""),
    "settings-half-a-character": (OK, ""),
    "settings-alike": (FAILED, "settings() names two settings 'blas'"),
    "settings-long": (OK, ""),
    "weights-none": (OK, ""),
    "weights-nan": (OK, ""),
    "weights-objects": (OK, ""),
    "weights-vast": (OK, ""),
    "weights-numbered": (OK, ""),
    "weights-named-vastly": (OK, ""),
    "weights-hang": (FAILED, "no answer within"),
    "batch-none": (FAILED, "TypeError"),
    # raises
    "raises-exit": (FAILED, "SystemExit: 0"),
    "raises-interrupt": (FAILED, "KeyboardInterrupt"),
    "raises-generator-exit": (FAILED, "GeneratorExit"),
    "raises-stop": (FAILED, "StopIteration"),
    "raises-base": (FAILED, "Unheard: of"),
    "raises-nothing-to-say": (FAILED, "its text cannot be had: ZeroDivisionError"),
    "raises-half-a-character": (FAILED, "ValueError: half ? of it"),
    "raises-colours": (FAILED, "ValueError: red"),
    "raises-megabytes": (FAILED, "ValueError: xxx"),
    "raises-recursion": (FAILED, "RecursionError"),
    "raises-group": (FAILED, "ExceptionGroup: several"),
    "raises-another-text": (FAILED, "ValueError: at "),
    "raises-from-putting": (FAILED, "OSError: put"),
    "raises-from-waiting": (FAILED, "OSError: synchronise"),
    "raises-from-building": (FAILED, "OSError: trainer"),
    "raises-names": (FAILED, "OSError: cannot open "),
    "raises-unavailable": (FAILED, "from a network that was built"),
    "raises-unimplemented": (FAILED, "from a network that was built"),
    # prints, and reads
    "prints-answers": (OK, ""),
    "prints-into-the-pipe": (FAILED, "something else than the worker answers"),
    "prints-without-end": (FAILED, "printed more than"),
    "prints-bytes": (FAILED, "exit status 4"),
    "reads-standard-input": (FAILED, "EOFError"),
    # sets
    "sets-an-alarm": (FAILED, "killed by SIGALRM"),
    "sets-numpy-to-raise": (OK, ""),
    "sets-no-output": (FAILED, "ValueError: in the dark"),
    "sets-another-folder": (OK, ""),
    "sets-no-descriptors": (FAILED, "exit status 1"),
    "sets-a-counter": (FAILED, "minor_faults"),
    "sets-its-faults": (FAILED, "it says that a mini-batch had 1"),
    "sets-its-memory": (FAILED, "it says that it has 9.54e+08 MiB of memory"),
    "sets-a-clock": (FAILED, "does its adapter replace a clock"),
    "leaves-a-mark": (OK, ""),
    # forks
    "forks-back": (OK, ""),
    "forks-a-daemon": (OK, ""),
    "forks-a-program": (OK, ""),
    "forks-and-dies": (FAILED, "exit status 3"),
    "ends-its-group": (FAILED, "killed by SIGTERM"),
    # dies
    "dies-sigkill": (FAILED, "killed (SIGKILL"),
    "dies-sigsegv": (FAILED, "killed by SIGSEGV"),
    "dies-sigabrt": (FAILED, "killed by SIGABRT"),
    "dies-sigfpe": (FAILED, "killed by SIGFPE"),
    "dies-sighup": (FAILED, "killed by SIGHUP"),
    "dies-40": (FAILED, "killed by signal 40"),
    "exits-0": (FAILED, "exit status 0"),
    "exits-200": (FAILED, "exit status 200"),
    "stops": (FAILED, "no answer within"),
    "hangs": (FAILED, "no answer within"),
    # starts again
    "restart-raises": (FAILED, "OSError: restart"),
    "restart-exits": (FAILED, "exit status 7"),
    "restart-hangs": (FAILED, "no answer within"),
    "restart-gives": (OK, ""),
    # profiles, after everything that is timed
    "profile-raises": (OK, ""),
    "profile-none": (OK, ""),
    "profile-text": (OK, ""),
    "profile-nan": (OK, ""),
    "profile-dies": (OK, ""),
    # before there is a network
    "opening-exits": (MISSING, "SystemExit: not today"),
    "opening-dies": (MISSING, "killed by SIGSEGV"),
    "opening-unavailable": (MISSING, "Unavailable"),
}  # fmt: skip

# Of the contender whose mini-batches the framework's own loader prepares.
LOADERS = {
    "loader-raises": (FAILED, "OSError: loader"),
    "loader-unavailable": (FAILED, "from a network that was built"),
    "loader-none": (FAILED, "TypeError"),
    "loader-number": (FAILED, "TypeError"),
    "loader-text": (FAILED, "its loader gave str"),
    "loader-lists": (FAILED, "its loader gave list"),
    "loader-nan": (FAILED, "other mini-batches"),
    "loader-short": (FAILED, "its loader ends after 1 mini-batches"),
    "loader-endless": (FAILED, "no answer within"),
    "loader-hangs": (FAILED, "no answer within"),
    "loader-dies": (FAILED, "killed by SIGSEGV"),
    "loader-exits": (FAILED, "SystemExit: 0"),
    "loader-forks": (OK, ""),
}  # fmt: skip

# Of a contender that performs a single operation.
OPERATIONS = {
    "operation-raises": (FAILED, "OSError: operation"),
    "operation-none": (FAILED, "cannot reshape"),
    "operation-nan": (OK, ""),
    "operation-text": (FAILED, "loss() gave str"),
    "operation-short": (FAILED, "cannot reshape"),
    "operation-vast": (FAILED, "cannot reshape"),
    "operation-hangs": (FAILED, "no answer within"),
    "operation-dies": (FAILED, "killed by SIGSEGV"),
    "operation-exits": (FAILED, "exit status 6"),
}  # fmt: skip

ALONE = ("opening", "loader")  # kinds that need a process of their own
FRAMEWORK = Framework(
    name="faulty",
    title="Faulty",
    distributions=("faulty",),
    install="comes with the tests",
    adapter="faults:FaultyAdapter",
    variants={
        kind: Variant(kind, variables={"FAULT": kind} if kind.startswith(ALONE) else {})
        for kind in (*OUTCOMES, *LOADERS, *OPERATIONS)
    },
    devices=("cpu",),
    loader=True,
)
