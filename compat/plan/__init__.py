"""The plan of a program: its four graphs and its operators, as JSON and as facts to check."""
