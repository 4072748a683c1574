"""Forecasts of real series by trained models."""
