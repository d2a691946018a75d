"""Fixtures that the official conformance suite and our own tests call. Never in the default set."""
