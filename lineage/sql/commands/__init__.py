"""The statements that sqlglot lacks, one file a family."""
