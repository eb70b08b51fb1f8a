"""`python -m tritonsmith`: what `accelerate launch` starts in each process.

When a process fails, a launcher ends with a traceback of its own, whatever that process does, and with a table of
failures, the last thing on the screen. That table is told what there is to tell: a user's mistake in its one line,
anything else with where it happened.
"""

import json
import os
import time
import traceback
from pathlib import Path

from tritonsmith.cli import main
from tritonsmith.errors import UserError


def tell(place: Path, end: BaseException) -> None:
    """Write the file that torch's launchers read (torch.distributed.elastic, "Error Propagation")."""
    reason: BaseException | None = end
    while reason is not None and not isinstance(reason, UserError):
        reason = reason.__cause__ or reason.__context__
    if reason is None and isinstance(end, SystemExit):
        return  # a code alone says no more than the launcher knows
    message = str(reason).splitlines()[0] if reason is not None else traceback.format_exc()
    place.write_text(json.dumps({"message": message, "timestamp": int(time.time())}))


if __name__ == "__main__":
    try:
        main()
    except (Exception, SystemExit) as end:
        if "TORCHELASTIC_ERROR_FILE" in os.environ:
            tell(Path(os.environ["TORCHELASTIC_ERROR_FILE"]), end)
        raise
