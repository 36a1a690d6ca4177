"""From what a user names on the command line to plans. Programs run in a child process, and nowhere else."""
