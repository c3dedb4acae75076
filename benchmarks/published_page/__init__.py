"""The parts of the page that `benchmarks/published.py` writes: facts, predictions, chapters."""
