"""What connectors, state, operators, tasks and the driver know of one another: records, and what travels with them."""
