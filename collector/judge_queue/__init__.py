"""Between stored questions and verdicts: who is asked when, what it may cost, and what becomes of the answers."""
