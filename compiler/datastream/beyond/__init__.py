"""The parts of compat's DataStream API that no version of PyFlink has: programs that use them run only on Spark.

Most of it is in Flink's Java API. Who calls it is noted with the line: a check says that PyFlink refuses the program.
"""
