"""How large prediction sets are."""
