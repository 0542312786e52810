"""What is wrong with a graph, as data."""
