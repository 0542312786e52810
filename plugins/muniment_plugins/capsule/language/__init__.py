"""The language layer: reads a program before it runs, and refuses forbidden parts."""
