"""What a backup holds, and how it comes back: tables as whole Delta tables, views and functions as facts."""
