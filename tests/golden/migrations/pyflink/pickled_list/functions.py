"""Values and keys of the old version as those of the new one."""


def named(old):
    n, text = old
    return {"n": n, "text": text}
