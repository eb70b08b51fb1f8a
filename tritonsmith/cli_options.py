"""What the commands share: their common options, and how those become a configuration."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tritonsmith.errors import UserError

if TYPE_CHECKING:
    from tritonsmith.config import Config, ExtensionsConfig, VerifyConfig

Device = Annotated[str, typer.Option(help="auto, cpu or cuda")]
Policy = Annotated[str, typer.Option(help="strict or lenient")]
Target = Annotated[str, typer.Option(help="GPU to compile for: sm_90, sm_80, gfx942, ...")]
Set = Annotated[list[str] | None, typer.Option("--set", help="section.key=value, over the file")]
ConfigFile = Annotated[Path, typer.Argument(help="a TOML file, see configs/", show_default=False)]
DryRun = Annotated[bool, typer.Option(help="the whole pipeline on a dummy model, in minutes")]


def config_of(path: Path | None, overrides: list[str]) -> "Config":
    """The configuration of a file, or of none, with `a.b=c` on top; raises ConfigError in one line."""
    from tritonsmith import config

    return config.load(path, overrides)


def verify_overrides(device: str, policy: str, target: str, timing: bool) -> list[str]:
    """The common options as overrides; what is judged outside of a run is judged on all kinds of inputs."""
    return [
        "extensions.multi_input=true",
        f"verify.device={json.dumps(device)}",
        f"verify.policy={json.dumps(policy)}",
        f"verify.target={json.dumps(target)}",
        f"verify.timing={json.dumps(timing)}",
    ]


def endpoint_overrides(url: str, model: str | None) -> list[str]:
    """A served model as overrides."""
    return [f"endpoint.url={json.dumps(url)}", *([f"endpoint.model={json.dumps(model)}"] if model else [])]


def verify_settings(
    device: str, policy: str, target: str, timing: bool, overrides: list[str] | None
) -> "tuple[VerifyConfig, ExtensionsConfig]":
    """The verifier's part of the configuration that the common options make."""
    config = config_of(None, [*verify_overrides(device, policy, target, timing), *(overrides or [])])
    return config.verify, config.extensions


def writable(path: Path) -> Path:
    """The path, where a file may be written; makes its folder; raises UserError."""
    if path.is_dir():
        raise UserError(f"{path} is a folder, not a file")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = not path.exists()
        path.open("a").close()
        if fresh:
            path.unlink()
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror}") from error
    return path


def readable(path: Path) -> Path:
    """The path, if it is a file that is there; raises UserError."""
    if path.is_dir():
        raise UserError(f"{path} is a folder, not a file")
    if not path.exists():
        raise UserError(f"{path} does not exist")
    return path
