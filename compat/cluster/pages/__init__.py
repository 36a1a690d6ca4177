"""The pages of a cluster, in the look of the service's (:mod:`compat.service.pages`).

They show what everybody may see, and have buttons for people who may use them. A button that ends something leads to a page
that asks first. Buttons send forms, so all pages work without scripts. Names, messages and logs come from programs: pages
escape them, and cut long ones.
"""

from __future__ import annotations

from compat.cluster.pages.handlers import FORMS, Pages
from compat.cluster.pages.site import SITE

__all__ = ["FORMS", "SITE", "Pages"]
