"""A demonstration of wakeful on a small real database."""
