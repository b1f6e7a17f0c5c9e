"""A real control plane without machines, and what the operator must survive on it."""
