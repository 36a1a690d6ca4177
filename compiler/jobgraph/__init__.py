"""The JobGraph: chains of operators become vertices, streams between chains become exchanges of data sets."""
