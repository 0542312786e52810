"""The system's layers around a child: Landlock, seccomp, limits, namespaces."""
