"""How a page is compared: with what withholds a part, and as a whole."""
