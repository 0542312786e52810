"""The formats of model APIs: bodies out, answers in."""
