"""The process that runs programs, and the world as they see it."""
