"""Loading: the inputs that a user names on the command line become plans. Programs run in a child process, and nowhere else."""
