"""Values of PyFlink's types, as expressions, and with an interpreter that has PyFlink what its coders write of them:

python coders.py > coders.jsonl
"""

import json

ROW = 'Types.ROW_NAMED(["name", "age", "marks"], [Types.STRING(), Types.INT(), Types.LIST(Types.LONG())])'
AVRO = (
    '{"type": "record", "name": "R", "fields": [{"name": "n", "type": "long"}, {"name": "s", "type": ["null", "string"]}, '
    '{"name": "m", "type": {"type": "map", "values": "int"}}]}'
)
VALUES = {
    "Types.STRING()": ["''", "'é😀'", "'a\\0b'"],
    "Types.CHAR()": ["'x'"],
    "Types.BOOLEAN()": ["True", "False"],
    "Types.BYTE()": ["-5", "127"],
    "Types.SHORT()": ["-3000"],
    "Types.INT()": ["-5", "2**31 - 1"],
    "Types.LONG()": ["-5", "2**63 - 1"],
    "Types.BIG_INT()": ["-5"],
    "Types.FLOAT()": ["1.5", "-0.25"],
    "Types.DOUBLE()": ["1.1", "-1e300", "float('inf')"],
    "Types.BIG_DEC()": ["Decimal('-1234.5600')", "Decimal('1E+3')"],
    "Types.SQL_DATE()": ["date(2024, 2, 29)", "date(1969, 12, 31)"],
    "Types.SQL_TIME()": ["time(23, 59, 58, 123000)"],
    "Types.SQL_TIMESTAMP()": ["datetime(2024, 2, 29, 1, 2, 3, 4000)"],
    "Types.INSTANT()": ["Instant(1700000000, 5)"],
    "Types.PICKLED_BYTE_ARRAY()": ["{'a': (1, [2], None)}", "'text'"],
    "Types.PRIMITIVE_ARRAY(Types.BYTE())": ["b'\\x01\\x00\\xff'", "b''"],
    "Types.PRIMITIVE_ARRAY(Types.LONG())": ["[1, -2]", "[]"],
    "Types.BASIC_ARRAY(Types.STRING())": ["['a', None]"],
    "Types.OBJECT_ARRAY(Types.TUPLE([Types.LONG(), Types.STRING()]))": ["[(1, 'a'), None]"],
    "Types.LIST(Types.LONG())": ["[1, None, 3]", "[]"],
    "Types.MAP(Types.STRING(), Types.LONG())": ["{'a': 1, 'b': None}", "{}"],
    "Types.TUPLE([Types.LONG(), Types.STRING()])": ["(5, 'x')"],
    ROW: ["Row(name='r', age=None, marks=[1, 2])", "Row(name=None, age=3, marks=None)"],
    f"Types.ROW([{', '.join(['Types.INT()'] * 9)}])": ["Row(0, None, 2, 3, 4, 5, 6, None, 8)"],
    f"GenericRecordAvroTypeInfo({AVRO!r})": [
        "{'n': -7, 's': 'é', 'm': {'a': 1, 'b': 2}}",
        "{'n': 1, 's': None, 'm': {}}",
    ],
}


def main():
    from datetime import date, datetime, time  # noqa: F401
    from decimal import Decimal  # noqa: F401

    from pyflink.common import Row, Types  # noqa: F401
    from pyflink.common.time import Instant  # noqa: F401
    from pyflink.fn_execution.coders import AvroCoder, from_type_info

    names = dict(locals())
    for type_, values in VALUES.items():
        try:
            coder = (AvroCoder(AVRO) if "Avro" in type_ else from_type_info(eval(type_, names))).get_impl()
            written = [coder.encode(eval(value, names)).hex() for value in values]
        except Exception as error:
            raise RuntimeError(type_) from error
        print(json.dumps({"type": type_, "values": written}))


if __name__ == "__main__":
    main()
