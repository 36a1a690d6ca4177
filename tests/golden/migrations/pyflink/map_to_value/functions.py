"""Values and keys of the old version as those of the new one."""


def summed(old):
    return sum(old.values())
