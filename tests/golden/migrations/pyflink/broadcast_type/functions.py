"""Values and keys of the old version as those of the new one."""


def boxed(key, old):
    return key, {"n": old}
