"""Whole models that serve requests: what prefill and decode take, at any batch, on any chips.

An explicit program is priced once, as sums over B, L and M (`terms`); shares of the machine's
figures make seconds of them (`passes`). A few layouts (`layouts`) are weighed at every point of a
sweep at once (`sweep`), and the best kept.
"""
