"""The one model of a job: its graphs, its operators, their states and types, its settings.

Program loaders, the JVM, compiled plans, savepoints and snapshots make these records, the rules read them, and plans are their
JSON.
"""
