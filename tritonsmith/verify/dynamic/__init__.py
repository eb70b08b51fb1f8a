"""What `forward` is seen to do beside its values: operators, launches, memory, counting, changes to its process."""
