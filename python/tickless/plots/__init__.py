"""Pictures, one file per kind; matplotlib is imported when one is drawn."""
