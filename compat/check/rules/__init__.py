"""The rules, and nothing else: one file each, with one ``RULE``. A file that is put here is found by the catalogue."""
