"""The list of conversations, search over all, exchange as files, what their caches hold."""
