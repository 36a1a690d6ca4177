"""A stream that is kept between jobs. Flink: ``CachedDataStream``."""

from __future__ import annotations

from typing import NoReturn

from compat.compiler.datastream._location import here
from compat.compiler.datastream._stream import DataStream
from compat.compiler.datastream.slot_sharing_group import SlotSharingGroup
from compat.compiler.errors import unsupported
from compat.compiler.transformations.kinds import CacheTransformation

__all__ = ["CachedDataStream"]


class CachedDataStream(DataStream):
    """The same records as the stream it was made of; readers in later jobs need not make them again."""

    @classmethod
    def of(cls, stream: DataStream) -> CachedDataStream:
        """Put a cache behind ``stream``."""
        environment, upstream = stream._environment, stream._transformation
        made = environment.pipeline.add(
            CacheTransformation(
                id=environment.pipeline.new_id(),
                name=f"Cache: {upstream.name}",
                input=upstream.id,
                output_type=upstream.output_type,
                parallelism=upstream.parallelism,
                parallelism_configured=True,
                location=here(),
            ),
            register=False,
        )
        return cls(environment, made.id, operator=False)

    def invalidate(self) -> None:
        """Drop the kept records; the next job makes them again."""
        caches = getattr(self._environment.program.executor, "caches", None)
        if caches is not None:
            caches.forget(self._id)

    def set_parallelism(self, parallelism: int) -> DataStream:
        self._refuse("set_parallelism")

    def name(self, name: str) -> DataStream:
        self._refuse("name")

    def get_name(self) -> str:
        self._refuse("get_name")

    def uid(self, uid: str) -> DataStream:
        self._refuse("uid")

    def set_uid_hash(self, uid_hash: str) -> DataStream:
        self._refuse("set_uid_hash")

    def set_max_parallelism(self, max_parallelism: int) -> DataStream:
        self._refuse("set_max_parallelism")

    def force_non_parallel(self) -> DataStream:
        self._refuse("force_non_parallel")

    def set_buffer_timeout(self, timeout_millis: int) -> DataStream:
        self._refuse("set_buffer_timeout")

    def start_new_chain(self) -> DataStream:
        self._refuse("start_new_chain")

    def disable_chaining(self) -> DataStream:
        self._refuse("disable_chaining")

    def slot_sharing_group(self, slot_sharing_group: str | SlotSharingGroup) -> DataStream:
        self._refuse("slot_sharing_group")

    def _refuse(self, what: str) -> NoReturn:
        raise unsupported(f"{what} is not supported for CachedDataStream: call it before cache().", location=here())
