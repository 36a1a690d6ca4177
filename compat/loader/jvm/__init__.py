"""Jobs in Java, Scala and SQL, built by Flink's own classes in a JVM that a child process holds."""
