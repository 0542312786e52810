"""The parent: starts children, watches them and believes little."""
