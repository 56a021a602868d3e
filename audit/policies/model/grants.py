"""Who owns what and who was granted which privilege, worked out from governance events; no Spark.

In: events, oldest first, applied by `apply_events`. Out: whether a user holds a privilege, who owns an
object, who the grantor of a GRANT is. Inner mappings are never changed: a copy shares them.

A privilege ON SCHEMA holds for all objects in the schema, ON ACCOUNT for everything. An owner has all
privileges on the object itself, not on objects in it. Grants on a name do not hold for an object that was
created under that name later.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from audit.policies.model.events import GovernanceEvent
from audit.policies.model.privileges import (
    ADMINISTRATORS,
    MANAGE_GRANTS,
    OWNERSHIP,
    Holder,
    Principal,
    Securable,
)
from lineage.model import Domain

ACCOUNT = Securable("account:", Domain.ACCOUNT, "")


@dataclass(frozen=True, slots=True)
class Grant:
    """A privilege that somebody has.

    Attributes:
        time: when it was granted, UTC microseconds.
        grantor: the role or user in whose name it was granted.
        option: WITH GRANT OPTION.
    """

    time: int
    grantor: Holder
    option: bool = False


@dataclass(frozen=True, slots=True)
class Ownership:
    """Who owns an object, and since when, UTC microseconds."""

    time: int
    holder: Holder


_Privilege = tuple[Holder, str]


@dataclass(slots=True)
class Grants:
    """All of them at one moment; only `apply_events.state_after` changes one, before anybody else sees it.

    Attributes:
        given: grants by the key of an object, then by holder and privilege.
        owners: who was granted OWNERSHIP when, by the key of an object.
        about: domain and name of the object of a key, as of the last GRANT on it.
        members: grants of roles, by role and holder.
        dropped_roles: when a role was last dropped, by its name, UTC microseconds.
    """

    given: dict[str, Mapping[_Privilege, Grant]] = field(default_factory=dict)
    owners: dict[str, Ownership] = field(default_factory=dict)
    about: dict[str, tuple[Domain, str]] = field(default_factory=dict)
    members: dict[tuple[str, Holder], Grant] = field(default_factory=dict)
    dropped_roles: dict[str, int] = field(default_factory=dict)

    def copy(self) -> Grants:
        """A copy that can be changed without changing this one."""
        return Grants(
            dict(self.given),
            dict(self.owners),
            dict(self.about),
            dict(self.members),
            dict(self.dropped_roles),
        )

    # -- questions -----------------------------------------------------------------------------

    def ownership(self, on: Securable) -> Ownership | None:
        """Who owns an object since when; None if unknown: administrators own it then."""
        granted, made = self.owners.get(on.key), on.creation
        # A later creation under the same name is another object.
        if granted is not None and (made is None or granted.time >= made.time):
            return granted
        if made is None:
            return None
        # A role that was dropped and created again does not own the objects of the first.
        is_gone = made.owner.kind == "ROLE" and self.dropped_roles.get(made.owner.name, -1) >= made.time
        return None if is_gone else Ownership(made.time, made.owner)

    def owner(self, on: Securable) -> Holder:
        """Who owns an object."""
        owned = self.ownership(on)
        return ADMINISTRATORS if owned is None else owned.holder

    def owns(self, who: Principal, on: Securable) -> bool:
        """Whether somebody owns an object, by themselves or by a role."""
        return self.owner(on) in who.holders

    def holds(self, who: Principal, privilege: str, on: Securable) -> bool:
        """Whether a user holds a privilege on an object, by themselves or by a role."""
        if who.is_admin or self.owns(who, on):
            return True
        return privilege != OWNERSHIP and self._found(who, privilege, on) is not None

    def grantor_for(self, who: Principal, privilege: str, on: Securable) -> Holder | None:
        """The grantor in whose name a user may grant a privilege or OWNERSHIP; None if they may not.

        It is the owner of the object, also for administrators and users with MANAGE GRANTS; else the holder
        of the privilege WITH GRANT OPTION (Snowflake, GRANT <privileges>, access control).
        """
        owner = self.owner(on)
        if who.is_admin or owner in who.holders or self._found(who, MANAGE_GRANTS, ACCOUNT) is not None:
            return owner
        return None if privilege == OWNERSHIP else self._found(who, privilege, on, option=True)

    def on_object(self, on: Securable) -> Mapping[_Privilege, Grant]:
        """The grants on an object itself, since it was created."""
        # An earlier grant was on another object, which had the same name.
        since = -1 if on.creation is None else on.creation.time
        return {key: one for key, one in self.given.get(on.key, {}).items() if one.time >= since}

    def to_holder(self, holder: Holder) -> Iterator[tuple[Domain, str, str, Grant]]:
        """The grants to a holder, OWNERSHIP included: domain and name of the object, privilege."""
        for key, one in self.owners.items():
            if one.holder == holder:
                # SHOW GRANTS of Snowflake shows OWNERSHIP with the grant option.
                yield *self.about[key], OWNERSHIP, Grant(one.time, holder, option=True)
        for key, given in self.given.items():
            for (grantee, privilege), granted in given.items():
                if grantee == holder:
                    yield *self.about[key], privilege, granted

    def _found(self, who: Principal, privilege: str, on: Securable, *, option: bool = False) -> Holder | None:
        """The role or user by which a user holds a privilege on an object or on its schema or account."""
        # USAGE ON SCHEMA does not include USAGE of its functions (Snowflake, access control privileges).
        above = () if privilege == "USAGE" and on.domain is Domain.FUNCTION else on.above
        for place in (on, *above):
            given = self.on_object(place)
            for holder in who.holders:
                found = given.get((holder, privilege))
                if found is not None and (found.option or not option):
                    return holder
        return None

    # -- events --------------------------------------------------------------------------------

    def grant_privileges(self, event: GovernanceEvent) -> None:
        """Apply a GRANT on an object."""
        key, details = event.object_key or "", event.details
        given = dict(self.given.get(key, {}))
        for privilege in details["privileges"]:
            given[_holder(details), privilege] = Grant(
                event.time, Holder(*details["as_whom"]), details["option"]
            )
        self._put(key, given, Domain(details["domain"]), event.name)

    def revoke_privileges(self, event: GovernanceEvent) -> None:
        """Apply a REVOKE on an object, or a REVOKE GRANT OPTION FOR."""
        key, details = event.object_key or "", event.details
        given = dict(self.given.get(key, {}))
        for privilege in details["privileges"]:
            known = given.pop((_holder(details), privilege), None)
            if known is not None and details["option_alone"]:
                given[_holder(details), privilege] = replace(known, option=False)
        self._put(key, given, Domain(details["domain"]), event.name)

    def create_object(self, event: GovernanceEvent) -> None:
        """Apply a creation or replacement: its creator owns the object, and earlier grants are gone."""
        key, details = event.object_key or "", event.details
        self.owners[key] = Ownership(event.time, _holder(details))
        self._put(key, {}, Domain(details["domain"]), event.name)

    def grant_ownership(self, event: GovernanceEvent) -> None:
        """Apply a GRANT OWNERSHIP: grants of the former owner become the new owner's, or are revoked."""
        key, details = event.object_key or "", event.details
        owner = _holder(details)
        given = {} if details["current"] == "REVOKE" else self.given.get(key, {})
        before = Holder(*details["as_whom"])
        kept = {
            entry: replace(one, grantor=owner) if one.grantor == before else one
            for entry, one in given.items()
        }
        self.owners[key] = Ownership(event.time, owner)
        self._put(key, kept, Domain(details["domain"]), event.name)

    def grant_role(self, event: GovernanceEvent) -> None:
        """Apply a GRANT ROLE."""
        grantor = ADMINISTRATORS  # roles are an administrator's to grant
        self.members[event.name, _holder(event.details)] = Grant(event.time, grantor)

    def revoke_role(self, event: GovernanceEvent) -> None:
        """Apply a REVOKE ROLE."""
        self.members.pop((event.name, _holder(event.details)), None)

    def drop_role(self, event: GovernanceEvent) -> None:
        """Apply a DROP ROLE: what it held is gone; what it owned and granted is the administrators'."""
        role = Holder("ROLE", event.name)
        # A later role of that name may neither revoke what this one has granted, nor be held to it.
        self.given = {
            key: {
                entry: replace(one, grantor=ADMINISTRATORS) if one.grantor == role else one
                for entry, one in given.items()
                if entry[0] != role
            }
            for key, given in self.given.items()
        }
        self.owners = {
            key: replace(one, holder=ADMINISTRATORS) if one.holder == role else one
            for key, one in self.owners.items()
        }
        self.members = {
            (name, holder): one
            for (name, holder), one in self.members.items()
            if event.name != name and holder != role
        }
        self.dropped_roles[event.name] = event.time

    def forget(self, key: str) -> None:
        """Forget an object that cannot be restored."""
        for known in (self.given, self.owners, self.about):
            known.pop(key, None)

    def _put(self, key: str, given: Mapping[_Privilege, Grant], domain: Domain, name: str) -> None:
        self.given[key] = given
        self.about[key] = domain, name


def _holder(details: Mapping[str, str]) -> Holder:
    return Holder(details["to"], details["grantee"])
