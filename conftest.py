"""Load the plugin of the tiers for the tests of `tests/` and for the doctests of the packages."""

pytest_plugins = ["tests.tiers", "pytester"]
