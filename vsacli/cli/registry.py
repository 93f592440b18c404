"""Commands that are imported when they are used, and options that are given once."""

from __future__ import annotations

from importlib import import_module
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from vsacli.errors import UsageError


class OnceCommand(TyperCommand):
    """A command that refuses a single-valued option given twice; by default the last one would win."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        _, _, order = self.make_parser(ctx).parse_args(args=list(args))
        for param in dict.fromkeys(order):
            single = param.param_type_name == "option" and not param.multiple and not getattr(param, "is_flag", False)
            if single and order.count(param) > 1:
                spelling = max(param.opts, key=len)
                raise UsageError(f"{spelling} is given {order.count(param)} times; give it only once")
        return super().parse_args(ctx, args)


class LazyGroup(TyperGroup):
    """A group whose commands are named in `registered` and imported only when they are called."""

    registered: ClassVar[dict[str, tuple[str, str, str]]] = {}

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        # The base class reads only the names from here, to suggest one for a mistyped command.
        self.commands = dict.fromkeys(self.registered)  # pyright: ignore[reportAttributeAccessIssue]

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.registered)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.registered:
            return None
        module, function, _ = self.registered[cmd_name]
        app = typer.Typer(
            add_completion=False, rich_markup_mode=None, context_settings={"help_option_names": ["--help", "-h"]}
        )
        home = import_module(module)
        call = getattr(home, function)
        app.command(cmd_name, cls=getattr(call, "command_class", OnceCommand), epilog=getattr(home, "EPILOG", None))(
            call
        )
        return get_command(app)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, _, summary) in self.registered.items()])
