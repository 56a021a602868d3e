"""Tests of the spool, the clock, the ids and the record hash."""
