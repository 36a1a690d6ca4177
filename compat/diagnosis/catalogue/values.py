"""Exceptions of classes and values: classes that are gone, and bytes that the new classes do not read."""

from __future__ import annotations

import re

from compat.diagnosis.entry import Entry, Proof

_KEEP_CLASS = "Restore the old form of the class, or put the new values into a state with another name."
_KRYO = r"(?:KryoException|EOFException): "

ENTRIES = (
    Entry(
        name="class-not-found",
        title="Could not find class '…' in classpath",
        pattern=re.compile(r"Could not find class '(?P<class_name>[^']*)' in classpath"),
        happened="The class {class_name} wrote state, and the new program has none of this name.",
        rules=("CMP404", "CMP418"),
        now="Put the class back under its old name. A renamed class needs its old name as long as such state exists.",
        example="java.io.IOException: Could not find class 'shop.Order' in classpath.",
        proof=Proof.NOT_ELSEWHERE,
    ),
    Entry(
        name="avro-class-not-found",
        title="Unable to find the class '…' which is used to deserialize the elements of this serializer. Were the "
        "class was moved "
        "or renamed?",
        pattern=re.compile(
            r"(?:class|type)[^']*'(?P<class_name>[^']*)' which is used to deserialize the elements of this serializer"
        ),
        happened="The class {class_name} of Avro records wrote state, and the new program has none of this name.",
        rules=("CMP404", "CMP418"),
        now="Put the class back under its old name and namespace.",
        example="java.io.IOException: Unable to find the class 'shop.Order' which is used to deserialize the "
        "elements of this "
        "serializer. Were the class was moved or renamed?",
    ),
    Entry(
        name="enum-value-removed",
        title="Could not create a restore serializer for enum … Probably because an enum value was removed",
        pattern=re.compile(
            r"Could not create a restore serializer for enum (?:class )?(?P<class_name>[\w.$]+?)\.? Probably"
        ),
        happened="A constant of the enum {class_name} is gone or renamed, and state was written with it.",
        rules=("CMP404",),
        now="Put the constant back. Add new ones at the end.",
        example="java.lang.IllegalStateException: Could not create a restore serializer for enum class shop.Color. "
        "Probably because "
        "an enum value was removed.",
    ),
    Entry(
        name="pojo-field-without-serializer",
        title="a present field should have its associated new field serializer available",
        pattern=re.compile(
            r"a present field should have its associated new field serializer available|"
            r"field serializer snapshots should be present"
        ),
        happened="A field of a POJO became transient or static, or its class is gone: Flink finds it in the state "
        "and has no "
        "serializer for it.",
        rules=("CMP404", "CMP418"),
        now="Make the field an ordinary one again, or remove it.",
        example="java.lang.IllegalStateException: a present field should have its associated new field serializer "
        "available.",
    ),
    Entry(
        name="pojo-flags",
        title="Unknown POJO flags, this should not happen",
        pattern=re.compile(r"Unknown POJO flags, this should not happen"),
        happened="The bytes of a state are read as a POJO but are not one: the fields of its class, or of one "
        "around it, differ from those written.",
        rules=("CMP404", "CMP415"),
        now=_KEEP_CLASS,
        example="java.lang.RuntimeException: Unknown POJO flags, this should not happen.",
        proof=Proof.NOT_ELSEWHERE,
    ),
    Entry(
        name="class-cannot-be-made",
        title="Cannot instantiate class.",
        pattern=re.compile(
            r"RuntimeException: Cannot instantiate class\.|NoSuchMethodException: (?P<class_name>[\w.$]+)\.<init>\(\)|"
            r"InstantiationException: (?P<class_of_object>[\w.$]+)"
        ),
        happened="The state holds objects of a class that can no longer be instantiated: it lost its constructor without "
        "arguments, or is "
        "abstract or a record now.",
        rules=("CMP404", "CMP415"),
        now=_KEEP_CLASS,
        example="java.lang.RuntimeException: Cannot instantiate class.",
        proof=Proof.NOT_ELSEWHERE,
    ),
    Entry(
        name="record-cannot-be-made",
        title="Could not instantiate record",
        pattern=re.compile(r"RuntimeException: Could not instantiate record"),
        happened="The components of a Java record differ from those in the state.",
        rules=("CMP404", "CMP432"),
        now=_KEEP_CLASS,
        example="java.lang.RuntimeException: Could not instantiate record",
        proof=Proof.NOT_ELSEWHERE,
        versions="From 1.19 on, which reads records of Java as POJOs.",
    ),
    Entry(
        name="field-of-another-type",
        title="Can not set … field … to …",
        pattern=re.compile(
            r"Can not set (?:final |static )*(?P<new>[\w.$\[\]]+) field (?P<field>[\w.$]+) to (?P<old>[\w.$\[;]+(?: "
            r"value)?)"
        ),
        happened="The field {field} has the type {new}, and the state holds {old} for it.",
        rules=("CMP404", "CMP415"),
        now=_KEEP_CLASS,
        example="java.lang.IllegalArgumentException: Can not set float field shop.Order.amount to java.lang.Long",
        proof=Proof.NOT_ELSEWHERE,
    ),
    Entry(
        name="kryo-class-not-found",
        title="Unable to find class: …",
        pattern=re.compile(r"KryoException: Unable to find class: (?P<class_name>.*)"),
        happened="Kryo reads the name of a class that the new program does not have. A garbled name means "
        "that the fields of the class around it differ.",
        rules=("CMP415", "CMP428"),
        now=_KEEP_CLASS,
        example="com.esotericsoftware.kryo.KryoException: Unable to find class: shop.Order",
        proof=Proof.NOT_ELSEWHERE,
    ),
    Entry(
        name="kryo-class-not-registered",
        title="Encountered unregistered class ID: …",
        pattern=re.compile(r"KryoException: Encountered unregistered class ID: (?P<number>-?\d+)"),
        happened="Kryo reads an unknown number of a registered class: the fields of the class around it "
        "differ, or other classes were registered.",
        rules=("CMP415",),
        now="Restore the old form of the class, and register the same classes in the same order.",
        example="com.esotericsoftware.kryo.KryoException: Encountered unregistered class ID: 104",
        proof=Proof.NOT_ELSEWHERE,
    ),
    Entry(
        name="kryo-registration-gone",
        title="Missing value for the key '…'",
        pattern=re.compile(r"IllegalStateException: Missing value for the key '(?P<class_name>[^']*)'"),
        happened="Kryo had registered {class_name} when the state was written, and the new program cannot load it.",
        rules=("CMP415", "CMP604"),
        now="Put the class, or its library, on the classpath, and register it as before.",
        example="java.lang.IllegalStateException: Missing value for the key "
        "'org.apache.avro.generic.GenericData$Array'",
        proof=Proof.NOT_ELSEWHERE,
    ),
    Entry(
        name="kryo-bytes-end",
        title="Buffer underflow",
        pattern=re.compile(_KRYO + r"(?:.*: )?Buffer underflow"),
        happened="Kryo reads beyond the end of a stored value: its class has more or other fields than those written.",
        rules=("CMP415",),
        now=_KEEP_CLASS,
        example="com.esotericsoftware.kryo.KryoException: Buffer underflow.",
        proof=Proof.NOT_ELSEWHERE,
        versions="A KryoException, or an EOFException that Flink makes of it.",
    ),
    Entry(
        name="kryo-value-of-another-class",
        title="Unable to resolve reference for … with id: …",
        pattern=re.compile(
            r"KryoException: (?:Unable to resolve reference for (?P<class_name>\S+) with id: |Invalid ordinal for enum "
            r'"(?P<enum>[^"]*)")'
        ),
        happened="Kryo reads the bytes of one field as another: the fields of the class differ from those written.",
        rules=("CMP415",),
        now=_KEEP_CLASS,
        example="com.esotericsoftware.kryo.KryoException: Unable to resolve reference for java.lang.String with id: 12",
        proof=Proof.NOT_ELSEWHERE,
    ),
    Entry(
        name="java-class-incompatible",
        title="local class incompatible: stream classdesc serialVersionUID = …, local class serialVersionUID = …",
        pattern=re.compile(
            r"InvalidClassException: (?P<class_name>[\w.$]+); (?:local class incompatible|class invalid)"
        ),
        happened="Objects of the class {class_name} were written by Java serialization, and its serialVersionUID has changed.",
        rules=("CMP415", "CMP420"),
        now="Declare the serialVersionUID that the message calls the stream's, and keep the fields readable.",
        example="java.io.InvalidClassException: shop.Order; local class incompatible: stream classdesc "
        "serialVersionUID = 1, local "
        "class serialVersionUID = 2",
        proof=Proof.RESTORE,
    ),
    Entry(
        name="avro-schema",
        title="Found …, expecting …, missing required field …",
        pattern=re.compile(r"AvroTypeException: Found (?P<old>.+?), expecting (?P<new>.+)"),
        happened="The new Avro schema of a state does not read the old records: found {old}, expecting {new}.",
        rules=("CMP404", "CMP422"),
        now="Give the new field a default, and keep the types of the old fields.",
        example="org.apache.avro.AvroTypeException: Found shop.Order, expecting shop.Order, missing required field "
        "amount",
        proof=Proof.NOT_ELSEWHERE,
    ),
    Entry(
        name="dummy-serializer",
        title="This object is a dummy TypeSerializer",
        pattern=re.compile(r"This object is a dummy TypeSerializer"),
        happened="The serializer that wrote a state could not be loaded from the new program, and was asked for a "
        "value.",
        rules=("CMP418", "CMP420"),
        now="Put the class of the serializer back into the jar.",
        example="java.lang.UnsupportedOperationException: This object is a dummy TypeSerializer.",
    ),
    Entry(
        name="pickled-class-gone",
        title="AttributeError: Can't get attribute '…' on <module '…'>",
        pattern=re.compile(
            r"AttributeError: Can't get attribute '(?P<class_name>[^']*)' on|"
            r"ModuleNotFoundError: No module named '(?P<module>[^']*)'"
        ),
        happened="A state holds pickled objects of a class that the new program does not have under this name.",
        rules=("CMP430", "CMP411"),
        now="Keep the class importable from its old module, at least as an alias.",
        example="java.lang.RuntimeException: Error received from SDK harness for instruction 3: Traceback (most "
        "recent call last):\n"
        '  File "/opt/pyflink/fn_execution/state_impl.py", line 168, in value\n'
        "AttributeError: Can't get attribute 'Order' on <module '__main__' from 'job.py'>",
        proof=Proof.RESTORE,
    ),
    Entry(
        name="bytes-read-by-python",
        title="UnicodeDecodeError: 'utf-8' codec can't decode byte … (PyFlink)",
        pattern=re.compile(
            r"(?P<error>UnicodeDecodeError|UnpicklingError|struct\.error|EOFError|OverflowError|MemoryError|IndexError|ValueError|"
            r"TypeError|AttributeError): [^\n]*\s*$"
        ),
        happened="PyFlink read a value of the state with a different type than the one that wrote it: Flink "
        "sees only bytes and did not notice.",
        rules=("CMP404", "CMP505"),
        now="Keep the type of the state, or put the new values into a state with another name.",
        example="java.lang.RuntimeException: Error received from SDK harness for instruction 3: Traceback (most "
        "recent call last):\n"
        '  File "/opt/pyflink/fn_execution/state_impl.py", line 168, in value\n'
        "UnicodeDecodeError: 'utf-8' codec can't decode byte 0xc0 in position 16: invalid start byte",
        proof=Proof.RESTORE,
        versions="In PyFlink's process mode.",
    ),
    Entry(
        name="version-refused",
        title="java.io.IOException: … version …",
        pattern=re.compile(r"IOException: .*\bversion\b"),
        happened="A serializer, or the snapshot of one, refuses the version that wrote the state.",
        rules=("CMP418", "CMP420"),
        now="Let the serializer read its earlier versions, too.",
        example="java.io.IOException: unknown writer state version 1",
        proof=Proof.RESTORE,
    ),
    Entry(
        name="bytes-of-another-type",
        title="EOFException, IndexOutOfBoundsException, ClassCastException … below 'Could not restore keyed state "
        "backend'",
        pattern=re.compile(
            r"(?P<error>EOFException|UTFDataFormatException|StreamCorruptedException|OptionalDataException|"
            r"(?:Array)?IndexOutOfBoundsException|NegativeArraySizeException|ClassCastException|ClassNotFoundException|"
            r"DateTimeException|KryoException|BufferUnderflowException|NumberFormatException|NoSuchElementException)\b"
        ),
        happened="The stored bytes do not fit the type that reads them ({error}).",
        rules=("CMP404", "CMP415", "CMP418"),
        now="Keep the type and its classes as they were, or put the new values into a state with another name.",
        example="java.io.EOFException",
        proof=Proof.RESTORE,
    ),
)
"""In the order in which they are tried."""
