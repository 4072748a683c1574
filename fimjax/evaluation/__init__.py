"""Benchmark forecasters on M1, M3, M4 and Tourism, next to statistical models and published results."""
