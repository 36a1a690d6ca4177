"""A Flink savepoint or checkpoint as the OLD side of a check.

`recorded` reads the files, `names` adds names from a known program or a table of uids, `facts` translates both to the
names of the program that will restore it.
"""
