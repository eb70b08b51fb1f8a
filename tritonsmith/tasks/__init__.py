"""What is to be replaced: the format, the built-in suite, loaders and generators."""
