"""The reference's side: inputs, weights and truth, other contents for all of them, and what computing them takes."""
