"""Training pairs: templates that answer synthetic tasks, and the verified rows made of them."""
