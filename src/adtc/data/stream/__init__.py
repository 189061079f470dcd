"""Tables of any number of rows: read in batches, summed up, merged into weighted rows."""
