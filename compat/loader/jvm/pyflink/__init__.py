"""Programs that need real PyFlink: run by an interpreter that has it, against a JVM that a child process holds."""
