"""The statements that change policies, tags, roles and grants."""
