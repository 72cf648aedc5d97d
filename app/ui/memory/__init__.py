"""The chart of the cache's memory and the selector of its scheme."""
