"""The window: what holds the rooms together, preferences, start and end of the program."""
