"""Speed, memory and accuracy of fimjax next to its peers."""
