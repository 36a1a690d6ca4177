"""Loading: turns the inputs named on the command line into plans. Programs run only in child processes."""
