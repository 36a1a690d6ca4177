"""Python's ``tarfile`` with the filters that keep unpacked files inside their folder; Python has them since 3.11.4."""

try:
    from backports import tarfile
except ModuleNotFoundError:
    import tarfile

__all__ = ["tarfile"]
