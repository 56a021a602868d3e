"""What the history says when a statement asks: versions, creations, changes, and what still runs."""
