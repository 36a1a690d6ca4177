"""Values and keys of the old version as those of the new one."""


def by_number(key, old):
    return int(key[1:]), {"n": old[0]}
