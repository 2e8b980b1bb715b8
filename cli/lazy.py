"""A group of verbs that imports a verb's module when the verb is called or its own help is shown.

The group's help, completion of verb names and suggestions need the table only. A stand-in takes each verb's place in the
group; when its arguments are to be parsed it is replaced by the real command.
"""

from __future__ import annotations

import importlib
import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from cli.common import DEBUG, CliError, Verb, near
from cli.help_texts import said

if TYPE_CHECKING:
    from typer._click import Command, Context, HelpFormatter

TAKE_ALL = {"ignore_unknown_options": True, "allow_extra_args": True, "allow_interspersed_args": False}
SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 110}


class StandIn(TyperCommand):
    """A verb that is not imported yet: name and one line of help."""

    def __init__(self, name: str, verb: Verb, shared: Sequence[Any]) -> None:
        super().__init__(name, short_help=said(verb.help), rich_markup_mode=None)
        self.verb, self.shared = verb, shared

    def make_context(self, info_name: str | None, args: list[str], parent: Context | None = None, **extra: Any) -> Context:
        return self.real().make_context(info_name, args, parent, **extra)

    def real(self) -> Command:
        """The command itself, imported now."""
        module, _, name = self.verb.target.partition(":")
        target = getattr(importlib.import_module(module), name)
        if isinstance(target, TyperGroup):
            return target
        if self.verb.native:
            return _command(self.name, _native(target, self.verb.native), add_help_option=False, context_settings=TAKE_ALL)
        command = get_command(target) if isinstance(target, typer.Typer) else _command(self.name, target)
        command.params.extend(self.shared)
        command.help = said(command.help or "")
        _translate(command.params)
        return command


def _translate(params: Sequence[Any]) -> None:
    """Help of options in the reader's language; `help` of arguments and options is a plain attribute."""
    for param in params:
        if getattr(param, "help", None):
            param.help = said(param.help)


def _command(name: str | None, function: Callable[..., object], **settings: Any) -> Command:
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(name, **settings)(function)
    return get_command(app)


def _native(main: Callable[[], object], prog: str) -> Callable[..., object]:
    def call(context: typer.Context) -> object:
        sys.argv = [prog, *context.args]
        return main()

    return call


class LazyGroup(TyperGroup):
    """Verbs by table, under the headings the table gives, in its order."""

    verbs: Mapping[str, Verb]

    def fill(self, verbs: Mapping[str, Verb]) -> None:
        """Put a stand-in in the place of every verb. --debug is every verb's option, so that it may stand anywhere."""
        shared = [p for p in self.params if p.name == "debug"]
        self.verbs = verbs
        for name, verb in verbs.items():
            self.add_command(StandIn(name, verb, shared), name)

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        if not args and not ctx.resilient_parsing:
            print(ctx.get_help())
            raise typer.Exit(2)
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Context, args: list[str]) -> tuple[str | None, Command | None, list[str]]:
        word = args[0]
        if word not in self.verbs and not ctx.resilient_parsing:
            close = near(word, list(self.verbs))
            hint = f"did you mean {ctx.command_path} {close}? " if close else ""
            raise CliError(f"no command {word!r}", f"{hint}{ctx.command_path} --help lists the commands")
        return super().resolve_command(ctx, args)

    def format_options(self, ctx: Context, formatter: HelpFormatter) -> None:
        """The verbs first, the options of the group after them."""
        self.format_commands(ctx, formatter)
        options = [record for p in self.get_params(ctx) if (record := p.get_help_record(ctx)) is not None]
        with formatter.section(said("Options")):
            formatter.write_dl([(names, said(text)) for names, text in options])

    def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:
        for heading in dict.fromkeys(verb.group for verb in self.verbs.values()):
            with formatter.section(said(heading or "Commands")):
                formatter.write_dl([(name, said(verb.help)) for name, verb in self.verbs.items() if verb.group == heading])


def build(
    prog: str, verbs: Mapping[str, Verb], help: str, examples: Sequence[tuple[str, str]], version: Callable[[], str] | None
) -> LazyGroup:
    """See cli.common.lazy_app."""
    app = typer.Typer(
        cls=LazyGroup,
        name=prog,
        help=said(help),
        epilog=_example_lines(examples),
        rich_markup_mode=None,
        context_settings=SETTINGS,
    )
    app.callback()(_options(version))
    group = get_command(app)
    if not isinstance(group, LazyGroup):
        raise TypeError(f"typer made a {type(group).__name__} of a LazyGroup")
    _translate(group.params)
    group.fill(verbs)
    return group


def _options(version: Callable[[], str] | None) -> Callable[..., None]:
    """The options of the group itself, as the function typer reads them from."""

    def show_traceback(on: bool) -> None:
        if on:
            os.environ[DEBUG] = "1"

    def show_version(on: bool) -> None:
        if on and version is not None:
            print(version())
            raise typer.Exit

    debug_option = typer.Option(
        False, "--debug", callback=show_traceback, is_eager=True, expose_value=False, help="Show the traceback of an error."
    )

    def plain(debug: bool = debug_option) -> None: ...

    if version is None:
        return plain
    version_option = typer.Option(
        False, "--version", callback=show_version, is_eager=True, expose_value=False, help="Show the version and leave."
    )

    def versioned(version: bool = version_option, debug: bool = debug_option) -> None: ...

    return versioned


def _example_lines(examples: Sequence[tuple[str, str]]) -> str | None:
    r"""The examples as one block; \b keeps click from filling its lines. What each does stands in
    a line of its own where one of them would not fit."""
    if not examples:
        return None
    width = max(len(line) for line, _ in examples)
    room = shutil.get_terminal_size().columns - 4  # click's own indentation, and its margin
    rows = [(line, said(what)) for line, what in examples]
    fit = all(4 + width + _cells(what) <= room for _, what in rows)
    made = (f"  {line:<{width}}  {what}" if fit else f"  {line}\n      {what}" for line, what in rows)
    return f"\b\n{said('Examples:')}\n" + "\n".join(made)


def _cells(text: str) -> int:
    """Columns of a terminal: Chinese characters take two."""
    return sum(2 if character >= "\u2e80" else 1 for character in text)
