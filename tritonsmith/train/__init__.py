"""Training: SFT, best-of-N, GRPO, and the run that strings them together."""

import os

# Read by huggingface_hub when it is imported, which every module of this package does.
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
