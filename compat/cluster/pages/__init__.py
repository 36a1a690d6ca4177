"""The pages of a cluster, in the look of the service's (:mod:`compat.service.pages`).

They show what everybody may look at, and have buttons for whoever may use them. A button that ends something leads to a page
that asks; each sends a form, and so all works without scripts. Names, messages and logs are of programs: they are
escaped where they are written, and what is long is cut.
"""

from __future__ import annotations

from compat.cluster.pages.handlers import FORMS, Pages
from compat.cluster.pages.site import SITE

__all__ = ["FORMS", "SITE", "Pages"]
