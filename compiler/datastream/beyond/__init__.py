"""What our DataStream API has and PyFlink has not, of any version: a program that uses it runs on Spark, and nowhere else.

Most of it is in Flink's Java API. Who calls it is noted with the line: a check says that PyFlink refuses the program.
"""
