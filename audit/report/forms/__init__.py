"""The formats of a report, a file each; `templates/` beside has the page."""
