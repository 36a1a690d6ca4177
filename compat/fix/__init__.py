"""``compat check --fix``: writes the safe fixes of a check into NEW, and checks again.

``edits`` collects the edits that the findings ask for, ``source`` finds the calls in a file's concrete syntax tree and
changes them,
``python`` and ``topology`` are the two kinds of files, ``repair`` shows the difference, writes, and checks again.
"""
