"""How a turn decides its next step: flows, external harnesses, skills, plan mode, payloads."""
