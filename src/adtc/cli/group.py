"""The `adtc` command itself: what becomes of errors, interrupts and unknown commands.

Everything a user can mend is one sentence on stderr and exit code 2; a traceback is a defect.
"""

import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import click

from adtc._version import __version__
from adtc.cli.running import count_from_start, end_process

MISTAKE, INTERRUPTED = 2, 130
TYPED = "adtc.typed"
_NO_OUTPUT = (
    "standard output is closed, so there is no place for the answer: leave it open, or send it to "
    "/dev/null."
)

COMPLETION = """\
\b
Tab completion: put the line for your shell into its start-up file.
  bash  eval "$(adtc completion bash)"
  zsh   eval "$(adtc completion zsh)"
  fish  adtc completion fish | source
"""


class Group(click.Group):
    """A click group with adtc's exit codes and one form for all messages."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run the command line; standing alone, end the process with an exit code."""

        def run() -> Any:
            return super(Group, self).main(args, prog_name, complete_var, False, **extra)

        if not standalone_mode:
            return run()
        if args is None:
            count_from_start()
        sys.set_int_max_str_digits(0)  # a count is printed in full, however large
        if sys.stdout is None:  # the next file that is opened would take its place
            end_process(_complain(_NO_OUTPUT, MISTAKE))
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):  # a name must not fail on an ASCII terminal
                stream.reconfigure(errors="replace")
        end_process(_exit_code(run))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep what was typed: a file that is made tells by which command."""
        ctx.meta[TYPED] = list(args)
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, and suggest the nearest one for a name that is none."""
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            from adtc.errors import unknown

            ctx.fail(unknown("command", name, self.list_commands(ctx)))
        return super().resolve_command(ctx, args)


def _exit_code(run: Callable[[], Any]) -> int:
    """Run, say in one sentence what went wrong, and tell it by a number."""
    try:
        code = run()
        return code if isinstance(code, int) else 0
    except (click.Abort, KeyboardInterrupt):
        _ignore_further_interrupts()
        return _complain("stopped; nothing was written.", INTERRUPTED)
    except click.ClickException as error:
        return _complain(_usage(error), MISTAKE)
    except MemoryError:
        return _complain(
            "this needs more memory than there is: choose a smaller --maxdep, a larger --minsup, "
            "or fewer features.",
            MISTAKE,
        )
    except OSError as error:
        from adtc.atomic import reason_of

        name = f"'{os.fsdecode(error.filename)}': " if error.filename else ""
        return _complain(f"{name}{reason_of(error)}.", MISTAKE)
    except UnicodeEncodeError as error:  # bytes of an argument that are no text
        return _complain(f"'{error.object}' is not UTF-8 text, as it should be here.", MISTAKE)
    except ValueError as error:
        from adtc.errors import ADTCError

        if not isinstance(error, ADTCError):
            raise
        return _complain(str(error), MISTAKE)


def _ignore_further_interrupts() -> None:
    """Let a second Ctrl-C not break off the farewell of the first; the process is ending."""
    if threading.current_thread() is threading.main_thread():  # no other may set a handler
        try:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        except KeyboardInterrupt:  # one that was under way: from here on there is none
            signal.signal(signal.SIGINT, signal.SIG_IGN)


def _complain(sentence: str, code: int) -> int:
    with suppress(OSError):  # where nobody can be told, the exit code says it
        click.echo(f"adtc: {sentence}", err=True)
    return code


def _usage(error: click.ClickException) -> str:
    """Say what click found wrong, and where the right usage is described."""
    context = getattr(error, "ctx", None)
    hint = f" See '{context.command_path} --help'." if context is not None else ""
    return error.format_message() + hint


@click.group(
    "adtc",
    cls=Group,
    epilog=COMPLETION,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option("--version", is_flag=True, help="Show the version and exit.")
@click.option("--json", "as_json", is_flag=True, help="With --version: all that runs, as JSON.")
@click.pass_context
def main(context: click.Context, version: bool, as_json: bool) -> None:
    """Exact answers about all decision trees of bounded depth on a table.

    Start with `adtc demo`. A TABLE is a bundled name (see `adtc datasets`) or the path of a CSV or
    Parquet file.
    """
    if version:
        click.echo(json.dumps(_versions()) if as_json else f"adtc {__version__}")
        context.exit()
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def _versions() -> dict[str, object]:
    """Tell what answers questions on this machine."""
    import platform
    from importlib.metadata import version

    from adtc import _core

    return {
        "version": __version__,
        "core": {"level": _core.LEVEL, "available": list(_core.available_levels())},
        "python": platform.python_version(),
        **{name: version(name) for name in ("numpy", "pyarrow")},
    }
