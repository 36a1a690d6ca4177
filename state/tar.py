"""Python's ``tarfile`` with the filters that keep what is unpacked inside its folder; Python has them since 3.11.4."""

try:
    from backports import tarfile
except ModuleNotFoundError:
    import tarfile

__all__ = ["tarfile"]
