"""Tests of the operator's recovery from failures, on a real control plane without machines."""
