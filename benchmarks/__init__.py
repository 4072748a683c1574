"""Speed and memory of fimjax, side by side with its peers."""
