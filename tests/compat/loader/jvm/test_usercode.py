"""The classes of the user's code, as far as no JVM is needed."""

import zipfile

import pytest

from compat.loader.jvm.usercode import UserClasses


class InOneJar(UserClasses):
    def __init__(self, jar):
        self._digests = {}
        self._jar = jar

    def jars(self):
        yield self._jar


def digest(folder, **classes):
    jar = folder / f"{len(list(folder.iterdir()))}.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        for name in (
            "com/amazonaws/shop/Orders",
            "com/amazonaws/shop/Chosen",
            "com/amazonaws/http/Client",
            "shop/Main",
        ):
            archive.writestr(f"{name}.class", classes.get(name.rpartition("/")[2], name))
    return InOneJar(jar)._digest_with(frozenset({"com/amazonaws/shop"}))


@pytest.mark.parametrize(
    ("changed", "differs"), [("Chosen", True), ("Orders", True), ("Main", True), ("Client", False)]
)
def test_a_program_in_the_package_of_a_library_counts_as_the_users(tmp_path, changed, differs):
    assert (digest(tmp_path) != digest(tmp_path, **{changed: "another"})) is differs
