"""Training pairs: sources of answers to tasks, and the verified rows made of them."""
