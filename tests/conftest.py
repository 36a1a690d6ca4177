"""Settings of all tests."""

from hypothesis import settings

settings.register_profile("compat", deadline=None)  # a loaded machine is no failure
settings.load_profile("compat")
