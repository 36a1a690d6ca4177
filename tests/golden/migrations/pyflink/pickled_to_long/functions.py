"""Values and keys of the old version as those of the new one."""


def number(old):
    return old["n"]
