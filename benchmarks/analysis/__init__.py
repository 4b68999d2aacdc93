"""Numbers from the attempts of sweeps: references, ratios, profiles and growth, each as a table."""
