"""Statistics: arrays in, arrays out, vectorised over the whole table."""
