"""The command line: `main` is what `layoutc` runs.

Exit status: 0 done, 1 a file is at fault, 2 the command line is. Errors go to standard error;
with `--json`, standard output is one JSON document and nothing else.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable

from layoutc import asked, formulas, machines, models, options, plans, sources
from layoutc.pipeline import WrongCall, WrongFile


def main(argv: list[str] | None = None) -> int:
    """Runs one command; `argv` is what follows the program's name."""
    chosen = options.parser().parse_args(argv)
    commands: dict[str, Callable[[argparse.Namespace], int]] = {
        "check": sources.run_check,
        "fmt": sources.run_fmt,
        "derive": formulas.run_derive,
        "compare": formulas.run_compare,
        "compile": plans.run_compile,
        "regimes": formulas.run_regimes,
        "diff": plans.run_diff,
        "verify": plans.run_verify,
        "model": models.run_model,
        "plan": models.run_plan,
        "hardware": machines.run_hardware,
        "calibrate": machines.run_calibrate,
    }
    try:
        return commands[chosen.command](chosen)
    except WrongCall as error:
        print(f"layoutc: error: {error}", file=sys.stderr)
        return 2
    except WrongFile as wrong:
        return asked.complain([wrong], chosen.json)
    except BrokenPipeError:
        # Whoever was reading has stopped; the interpreter must not try to flush again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
