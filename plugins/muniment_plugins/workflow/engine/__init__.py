"""How a graph is walked: paths, forks, joins, attempts, and what runs at once."""
