"""A wakeful model provider that plays scripts and replays recorded sessions."""
