"""What a prompt is made of: which artifacts come in, which do not and why, and how."""
