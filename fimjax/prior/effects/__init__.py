"""Effects on a series, one a file; `fimjax.prior.observation` lists them in order."""
