"""Jobs in two versions each, to try the commands on."""
