"""What can be wrong with digests, keys and proofs."""

from __future__ import annotations

from audit.core.errors import AuditError


class EvidenceError(AuditError):
    """A digest, a key or a proof is not what it claims to be."""

    code = "AUDIT_EVIDENCE_INVALID"
