"""Failed results that say how to succeed, and an end to calls that cannot."""
