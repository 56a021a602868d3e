"""Drivers killed at random points: nothing that returned is lost, nothing is there twice."""
