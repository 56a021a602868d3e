"""Where backups are kept: a local folder, or an object store. Who makes a backup does not care which."""
