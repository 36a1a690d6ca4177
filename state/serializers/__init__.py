"""Values, keys and namespaces of state as bytes, by their declared types.

A value of a typed state can be read back from its bytes and the type's description alone; only pickled types need the
program's own classes.
"""

from compat.state.serializers.codecs import Codec, codec_of, not_of_type
from compat.state.serializers.exactness import exactness_of
from compat.state.serializers.keys import KeyCodec, identity_of, key_codec_of
from compat.state.serializers.pickles import dump, load

__all__ = [
    "Codec",
    "KeyCodec",
    "codec_of",
    "dump",
    "exactness_of",
    "identity_of",
    "key_codec_of",
    "load",
    "not_of_type",
]
