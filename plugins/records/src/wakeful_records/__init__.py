"""Actions over any SQL database for wakeful agents."""
