"""Values and keys of the old version as those of the new one."""


def paired(key):
    return "k", key
