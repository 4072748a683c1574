"""The weights that ship with fimjax, a folder for each model."""
