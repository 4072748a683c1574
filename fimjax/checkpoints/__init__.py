"""Stored models: checkpoints of training runs, and pretrained weights."""
