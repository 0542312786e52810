"""Reports: a page about one run, on which every value names the event it is from."""
