"""This project's own Java in Spark's JVM: one jar, checked by its sha256, once a JVM.

In: a Py4J view of a JVM, the name of a class under `io.sparkaccesshistory`. Out: an instance. Where
`spark.jars` names the jar already, its classes are used; else it joins the class loader of Spark's driver.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile, ZipFile

from audit.core.errors import JavaClassesError
from audit.spark.embedded.jars import sha256_of
from audit.spark.jvm import class_loader, view

if TYPE_CHECKING:
    from pyspark import SparkContext

JAR = Path(__file__).parent / "jar" / "access-history.jar"
PACKAGE = "io.sparkaccesshistory"
EXTENSION = f"{PACKAGE}.AccessHistoryExtensions"
"""A class for `spark.sql.extensions`."""
_STAMP = f"{PACKAGE.replace('.', '/')}/sources.sha256"
_BUILD = "run `make setup` (or `python java/build.py`) in the checkout, or install the package anew"


def instance(jvm: Any, name: str) -> Any:
    """A new instance of a class, by its name below `io.sparkaccesshistory`, such as `capture.EventQueue`.

    Raises:
        JavaClassesError: as `load_classes`.
    """
    return load_classes(jvm).loadClass(f"{PACKAGE}.{name}").newInstance()


def shared(jvm: Any, name: str) -> Any:
    """As `instance`, one for all who ask: of a class that keeps nothing.

    Raises:
        JavaClassesError: as `load_classes`.
    """
    kept = vars(jvm._gateway_client).setdefault("audit_shared", {})
    if name not in kept:
        kept[name] = instance(jvm, name)
    return kept[name]


def executor_instance(context: SparkContext, name: str) -> Any:
    """As `instance`, of a class that runs on executors, too: they get the jar from the driver.

    Raises:
        JavaClassesError: as `load_classes`.
    """
    # listJars names the jars by the URL at which the driver's file server offers them.
    jars = context._jsc.sc().listJars()
    if not any(str(jars.apply(i)).endswith(f"/{JAR.name}") for i in range(jars.size())):
        # Executors of later asks for it as well: SparkContext keeps it.
        context._jsc.addJar(_verified().as_uri())
    return instance(view(context), name)


def load_classes(jvm: Any) -> Any:
    """The class loader that has the classes, which are brought there first where they are missing.

    Raises:
        JavaClassesError: the jar is missing or altered, or the JVM has another build of it.
    """
    # In the connection to the JVM, as `jvm.java_class` does. Py4J 0.10 keeps methods by the name of a class,
    # whatever its loader, so one JVM must have each class once.
    kept = vars(jvm._gateway_client)
    if "audit_loader" not in kept:
        kept["audit_loader"] = _loader(jvm)
    return kept["audit_loader"]


def _loader(jvm: Any) -> Any:
    loader = class_loader(jvm)
    # The stamp tells apart builds whose classes have equal names.
    found = loader.getResourceAsStream(_STAMP)
    if found is None:
        return _extended(jvm, loader)
    try:
        sources = bytes(found.readAllBytes()).decode()
    finally:
        found.close()
    if sources != _sources(_verified()):
        raise JavaClassesError(
            f"Spark's JVM has another build of {JAR.name} on its class path than this package",
            f"have spark.jars name {JAR}, or leave it out there, and start the JVM anew",
        )
    return loader


def _extended(jvm: Any, loader: Any) -> Any:
    """A class loader with the jar: Spark's own (MutableURLClassLoader, of spark-submit), else one below."""
    url = getattr(jvm, "java.net.URI").create(_verified().as_uri()).toURL()
    # spark-submit makes this loader the context class loader; its addURL is public, unlike that of
    # URLClassLoader.
    growing = getattr(jvm, "java.lang.Class").forName("org.apache.spark.util.MutableURLClassLoader")
    if growing.isInstance(loader):
        loader.addURL(url)
        return loader
    urls = getattr(jvm, "java.util.ArrayList")()
    urls.add(url)
    # Py4J maps a Python list to no typed array, so toArray gets an empty one of the right type.
    none = getattr(jvm, "java.lang.reflect.Array").newInstance(url.getClass(), 0)
    return getattr(jvm, "java.net.URLClassLoader")(urls.toArray(none), loader)


@cache
def _verified() -> Path:
    """The jar, once its bytes are those that the build has written down."""
    try:
        wanted = JAR.with_name(f"{JAR.name}.sha256").read_text(encoding="utf-8").split()[0]
        found = sha256_of(JAR)
    except (OSError, IndexError) as error:
        raise JavaClassesError(f"{JAR} cannot be read ({error})", _BUILD) from error
    if found != wanted:
        raise JavaClassesError(f"{JAR} has sha256 {found}, and its build wrote {wanted}", _BUILD)
    return JAR


def _sources(jar: Path) -> str:
    """What the jar was made of: `java/build.py` writes it."""
    try:
        with ZipFile(jar) as archive:
            return archive.read(_STAMP).decode()
    except (BadZipFile, KeyError) as error:
        raise JavaClassesError(f"{jar} is no jar of this project's ({error})", _BUILD) from error
