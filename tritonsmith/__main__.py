"""`python -m tritonsmith`: what `accelerate launch` starts in each process."""

from tritonsmith.cli import main

main()
