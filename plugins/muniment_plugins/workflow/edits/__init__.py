"""Changes of graphs: patches, differences, edits that are recorded, commits."""
