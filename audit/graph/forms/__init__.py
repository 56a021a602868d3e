"""The forms of a lineage graph: text, pictures, rows, plain values."""
