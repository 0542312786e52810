"""What is called when a program or a function is: its code, and the path to it."""
