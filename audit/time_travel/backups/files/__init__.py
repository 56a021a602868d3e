"""The files of a backup on a local file system: linked, hashed, published and verified by plain Python."""
