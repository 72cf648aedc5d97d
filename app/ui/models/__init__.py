"""Models: browsing the hub, downloads, what is installed, whether it fits."""
