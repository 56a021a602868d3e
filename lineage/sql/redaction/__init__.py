"""Takes passwords, keys and tokens out of SQL text and of any other text, before either is put on disk."""
