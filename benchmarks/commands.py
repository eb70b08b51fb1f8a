"""What the commands of several benchmarks share: how they end, and folders that hold one setting's results only."""

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from textwrap import shorten

import typer

from tritonsmith import jsonl
from tritonsmith.errors import UserError

log = logging.getLogger(__name__)

STOPPED = 130
LONGEST = 80
"""Letters of a setting that a message shows."""


def start(app: typer.Typer, training: bool = False) -> None:
    """Run the command line; a user's mistake ends in one line and exit code 2, Ctrl-C in one and 130.

    Results go to stdout, all else to stderr. `training`: the libraries that train are used, and told to be quiet.
    """
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    for name in ("httpx", "huggingface_hub"):
        logging.getLogger(name).setLevel(logging.WARNING)
    if training:
        from tritonsmith.train import trainer  # seconds of imports, which each process of a build would spend anew

        trainer.quiet()
    try:
        app()
    except UserError as error:
        typer.echo(f"error: {str(error).splitlines()[0]}", err=True)
        raise SystemExit(2) from error
    except (KeyboardInterrupt, SystemExit) as end:
        if isinstance(end, SystemExit) and end.code != STOPPED:  # what typer makes of Ctrl-C
            raise
        log.info("stopped; the same command goes on from here")
        raise SystemExit(STOPPED) from end


def same_settings(out: Path, settings: Mapping[str, object], results: Path) -> None:
    """Keep what a folder's results depend on in `settings.json`; raises UserError where its `results` are of
    other ones."""
    path, now = out / "settings.json", {key: None if one is None else str(one) for key, one in settings.items()}
    if not results.exists():
        jsonl.write(path, json.dumps(now, indent=1))
        return
    before = json.loads(path.read_text()) if path.exists() else now
    for key, value in now.items():
        if before.get(key) != value:
            was, is_now = (shorten(str(one), LONGEST) for one in (before.get(key), value))
            raise UserError(f"{out} holds results with {key} = {was}, not {is_now}: give another --out")
