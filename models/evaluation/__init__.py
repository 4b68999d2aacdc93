"""The numbers of one plan: cost, times, certified probabilities, also under laws fitted to runs."""
