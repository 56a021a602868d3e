"""What goes to other tools, and what comes from them."""
