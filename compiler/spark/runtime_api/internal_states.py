"""The names of states that the execution keeps for itself, beside those of the program."""

COMMITTABLES = "committables"
FEEDBACK = "feedback"
WATERMARK = "watermark"
STATES = "states"
