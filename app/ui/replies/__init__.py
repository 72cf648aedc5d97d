"""How replies are generated: the settings of a conversation and their profiles."""
