"""Classical forecasts and fits that the networks start from, as differentiable batched functions."""
