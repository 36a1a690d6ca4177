"""Views for people: a check or a plan as graphs and tables.

:func:`compat.view.page_values.check_section` and :func:`~compat.view.page_values.plan_section` turn reports and plans into
plain values; :mod:`compat.view.page` makes one self-contained file of them, and the service's pages show the same values with
the same templates and scripts.
"""
