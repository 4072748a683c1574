"""The synthetic prior: the series that models are trained on.

A series takes four steps from its key to a batch: `layout` (season, window length, history, times), `families` (one
simulated path), `effects` (growth, cycles, noise, gaps and others) and `sampler` (batches of such series).

The suffix of an array's name gives its axes: B series, W windows, T slots in a window, N simulated steps, P steps of a
season, F frequencies. Names that start with `u` or are unpacked from `uniform_numbers` are uniform on [0, 1).
"""
