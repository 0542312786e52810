"""The loop of a model that calls tools until it answers, or something stops it."""
