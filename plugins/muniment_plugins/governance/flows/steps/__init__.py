"""Steps of flows: what they are given, call, make, count, and how they are judged."""
