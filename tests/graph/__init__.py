"""The lineage graph: walks, names, forms, the picture; stories stand in for what a driver records."""
