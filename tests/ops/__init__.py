"""Operations: ingest, retention, the commands, several drivers, bad input."""
