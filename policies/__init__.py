"""Policies: masking, row access, tags and roles. Nothing is here yet: no policy is enforced or recorded."""
