"""Values and keys of the old version as those of the new one."""


def odd(key):
    return key % 2 == 1
