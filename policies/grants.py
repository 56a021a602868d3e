"""Who holds which privilege on what, and who owns it. Pure values; no Spark.

In: events, oldest first, as `policies.state` folds them. Out: whether somebody holds a privilege, who owns an
object, as whom somebody may grant. Inner mappings are never changed: a copy shares them.

What is granted ON SCHEMA holds for what is in it, ON ACCOUNT for everything. An owner has all privileges on
the object itself, not on what is in it. What was granted on a name before the object was created that has
the name now does not hold on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from lineage.model import Domain
from policies.events import Event
from policies.privileges import (
    ADMINISTRATORS,
    MANAGE_GRANTS,
    OWNERSHIP,
    Holder,
    Securable,
    Who,
)

ACCOUNT = Securable("account:", Domain.ACCOUNT, "")


@dataclass(frozen=True, slots=True)
class Given:
    """A privilege that somebody has.

    Attributes:
        time: when it was granted, UTC microseconds.
        by: as whom.
        option: whether the holder may grant it on.
    """

    time: int
    by: Holder
    option: bool = False


@dataclass(frozen=True, slots=True)
class Owned:
    """Who owns an object, and since when, UTC microseconds."""

    time: int
    holder: Holder


_Privilege = tuple[Holder, str]


@dataclass(slots=True)
class Grants:
    """All of them at one moment; only `folded` changes one, before anybody else sees it.

    Attributes:
        given: by the key of an object: holder and privilege.
        owners: by the key of an object: who was granted OWNERSHIP, and when.
        about: what a key stands for: domain and name, as it was when something was last granted on it.
        members: role and holder of it.
        gone: when a role of a name was last dropped, UTC microseconds.
    """

    given: dict[str, Mapping[_Privilege, Given]] = field(default_factory=dict)
    owners: dict[str, Owned] = field(default_factory=dict)
    about: dict[str, tuple[Domain, str]] = field(default_factory=dict)
    members: dict[tuple[str, Holder], Given] = field(default_factory=dict)
    gone: dict[str, int] = field(default_factory=dict)

    def copy(self) -> Grants:
        """The same, to go on from."""
        return Grants(
            dict(self.given), dict(self.owners), dict(self.about), dict(self.members), dict(self.gone)
        )

    # -- questions -----------------------------------------------------------------------------

    def ownership(self, on: Securable) -> Owned | None:
        """Who owns an object since when; None where nobody is known to, so that administrators do."""
        granted, made = self.owners.get(on.key), on.made
        if granted is not None and (made is None or granted.time >= made.time):
            return granted
        if made is None:
            return None
        is_gone = made.owner.kind == "ROLE" and self.gone.get(made.owner.name, -1) >= made.time
        return None if is_gone else Owned(made.time, made.owner)

    def owner(self, on: Securable) -> Holder:
        """Who owns an object."""
        owned = self.ownership(on)
        return ADMINISTRATORS if owned is None else owned.holder

    def owns(self, who: Who, on: Securable) -> bool:
        """Whether somebody owns an object, by themselves or by a role."""
        return self.owner(on) in who.holders

    def holds(self, who: Who, privilege: str, on: Securable) -> bool:
        """Whether somebody may do what a privilege allows on an object."""
        if who.is_admin or self.owns(who, on):
            return True
        return privilege != OWNERSHIP and self._found(who, privilege, on) is not None

    def as_whom(self, who: Who, privilege: str, on: Securable) -> Holder | None:
        """As whom somebody may grant a privilege, or OWNERSHIP, on an object; None where they may not.

        That is the owner of the object, for an administrator and who has MANAGE GRANTS, too; else who was
        granted the privilege with grant option (Snowflake, GRANT <privileges>, access control).
        """
        owner = self.owner(on)
        if who.is_admin or owner in who.holders or self._found(who, MANAGE_GRANTS, ACCOUNT) is not None:
            return owner
        return None if privilege == OWNERSHIP else self._found(who, privilege, on, option=True)

    def on(self, on: Securable) -> Mapping[_Privilege, Given]:
        """What is granted on an object itself, since it was created."""
        since = -1 if on.made is None else on.made.time
        return {key: one for key, one in self.given.get(on.key, {}).items() if one.time >= since}

    def to(self, holder: Holder) -> Iterator[tuple[Domain, str, str, Given]]:
        """What somebody holds, owned objects among it: domain and name of the object, privilege."""
        for key, one in self.owners.items():
            if one.holder == holder:
                yield *self.about[key], OWNERSHIP, Given(one.time, holder, option=True)
        for key, given in self.given.items():
            for (grantee, privilege), granted in given.items():
                if grantee == holder:
                    yield *self.about[key], privilege, granted

    def _found(self, who: Who, privilege: str, on: Securable, *, option: bool = False) -> Holder | None:
        """As whom somebody holds a privilege on an object, or on what it is in."""
        # USAGE of a schema is none of the functions in it.
        above = () if privilege == "USAGE" and on.domain is Domain.FUNCTION else on.above
        for place in (on, *above):
            given = self.on(place)
            for holder in who.holders:
                found = given.get((holder, privilege))
                if found is not None and (found.option or not option):
                    return holder
        return None

    # -- events --------------------------------------------------------------------------------

    def grant(self, event: Event) -> None:
        """Privileges are granted on an object."""
        key, said = event.object_key or "", event.details
        given = dict(self.given.get(key, {}))
        for privilege in said["privileges"]:
            given[_holder(said), privilege] = Given(event.time, Holder(*said["as_whom"]), said["option"])
        self._put(key, given, Domain(said["domain"]), event.name)

    def revoke(self, event: Event) -> None:
        """Privileges on an object are taken from somebody, or only the option to grant them on."""
        key, said = event.object_key or "", event.details
        given = dict(self.given.get(key, {}))
        for privilege in said["privileges"]:
            known = given.pop((_holder(said), privilege), None)
            if known is not None and said["option_alone"]:
                given[_holder(said), privilege] = replace(known, option=False)
        self._put(key, given, Domain(said["domain"]), event.name)

    def make(self, event: Event) -> None:
        """An object is created or replaced: who did it owns it, and what was granted on another is gone."""
        key, said = event.object_key or "", event.details
        self.owners[key] = Owned(event.time, _holder(said))
        self._put(key, {}, Domain(said["domain"]), event.name)

    def own(self, event: Event) -> None:
        """An object has another owner, as whom its privileges are granted from now on, or by nobody."""
        key, said = event.object_key or "", event.details
        owner = _holder(said)
        given = {} if said["current"] == "REVOKE" else self.given.get(key, {})
        before = Holder(*said["as_whom"])
        kept = {held: replace(one, by=owner) if one.by == before else one for held, one in given.items()}
        self.owners[key] = Owned(event.time, owner)
        self._put(key, kept, Domain(said["domain"]), event.name)

    def join(self, event: Event) -> None:
        """A role is granted."""
        by = ADMINISTRATORS  # roles are an administrator's to grant
        self.members[event.name, _holder(event.details)] = Given(event.time, by)

    def leave(self, event: Event) -> None:
        """A role is revoked."""
        self.members.pop((event.name, _holder(event.details)), None)

    def drop_role(self, event: Event) -> None:
        """A role is dropped: what it was granted is gone, what it owned is the administrators'."""
        role = Holder("ROLE", event.name)
        self.given = {
            key: {held: one for held, one in given.items() if held[0] != role}
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
        self.gone[event.name] = event.time

    def drop(self, key: str) -> None:
        """An object is gone for good."""
        for known in (self.given, self.owners, self.about):
            known.pop(key, None)

    def _put(self, key: str, given: Mapping[_Privilege, Given], domain: Domain, name: str) -> None:
        self.given[key] = given
        self.about[key] = domain, name


def _holder(said: Mapping[str, str]) -> Holder:
    return Holder(said["to"], said["grantee"])
