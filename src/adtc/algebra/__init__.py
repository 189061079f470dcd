"""What is asked: trees, semirings, metrics, tensors and constraint formulas (Secs. 2-4)."""
