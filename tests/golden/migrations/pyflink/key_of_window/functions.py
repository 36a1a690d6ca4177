"""Values and keys of the old version as those of the new one."""


def text(key):
    return f"k{key}"


def by_text(old):
    return f"k{old[0]}", old[1]
