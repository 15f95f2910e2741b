"""The description of a framework whose import ends its process."""

import os
import signal

os.kill(os.getpid(), signal.SIGSEGV)
