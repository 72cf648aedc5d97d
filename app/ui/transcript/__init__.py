"""The messages of a conversation on the page, and finding words in them."""
