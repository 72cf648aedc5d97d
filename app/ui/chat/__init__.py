"""One conversation: its turns, branches and switches, between the library and the engine."""
