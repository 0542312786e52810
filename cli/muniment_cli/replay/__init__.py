"""The two processes of `muniment replay`."""
