"""Building programs that clients send, where the operator allows it: confined, in a process and a folder of their own."""
