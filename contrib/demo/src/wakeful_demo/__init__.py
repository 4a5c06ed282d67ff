"""A demonstration of wakeful: an office assistant over a small company's real SQLite database."""
