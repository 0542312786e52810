"""The tour of `muniment demo`."""
