"""What a pool of artifacts keeps, in structures that branches share."""
