"""The Hugging Face hub: searching it, its accounts, downloads, and its cache on disk."""
