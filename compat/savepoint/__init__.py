"""A Flink savepoint or checkpoint as the OLD side of a check.

`recorded` reads what is on disk, `names` adds what a known program or a table of uids tells, `facts` puts both in the
words of the program that is to restore it.
"""
