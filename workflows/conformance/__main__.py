"""`python -m workflows.conformance NAME`"""

import argparse
import sys

from workflows.conformance.command import add_arguments, run

parser = argparse.ArgumentParser(prog="python -m workflows.conformance")
add_arguments(parser)
if __name__ == "__main__":
    sys.exit(run(parser.parse_args()))
