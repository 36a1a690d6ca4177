"""The names of the states that the execution itself keeps, beside those of the program."""

COMMITTABLES = "committables"
FEEDBACK = "feedback"
WATERMARK = "watermark"
STATES = "states"
