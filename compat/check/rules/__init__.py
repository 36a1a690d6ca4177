"""The rules, and nothing else: a folder each family, a file each rule, named by its id and name, with one ``RULE``.

A file that is put here is found by the catalogue.
"""
