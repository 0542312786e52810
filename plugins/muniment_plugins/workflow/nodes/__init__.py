"""The kinds of nodes: what each of them does, one file for each."""
