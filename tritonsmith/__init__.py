"""Reinforcement learning of Triton kernels with a verifier that a model cannot fool."""

__version__ = "0.1.0"
