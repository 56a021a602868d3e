"""Evidence: what the audit tables hold is signed, so that nobody alters it unseen."""
