"""A job's own Scala API, offered to Flink, which searches only its own jars for one."""

from __future__ import annotations

import jpype

from compat.loader.jvm.bridge import FLINK, Java, flink, java

_ACCESSORS = "streaming.util.typeutils.FieldAccessorFactory"
_FACTORY = f"{FLINK}streaming.util.typeutils.DefaultScalaProductFieldAccessorFactory"
"""The class by which Flink's ``ScalaProductFieldAccessorFactory`` knows a Scala API."""


def offer_scala(loader: Java) -> None:
    """Have Flink get at fields of Scala's classes with the Scala API of a job, as where both lie on one class path.

    Without one Flink has its own, or none.
    """
    holder = flink(_ACCESSORS).class_.getDeclaredField("scalaProductFieldAccessorFactory")
    kind = java("sun.misc.Unsafe").class_.getDeclaredField("theUnsafe")
    kind.setAccessible(True)
    unsafe = kind.get(None)
    unsafe.putObject(unsafe.staticFieldBase(holder), unsafe.staticFieldOffset(holder), _found(loader))


def _found(loader: Java) -> Java:
    try:
        return java("java.lang.Class").forName(_FACTORY, True, loader).getDeclaredConstructor().newInstance()
    except jpype.JException:  # none, or not for this Scala
        return None
