"""Running cases: their registry, their records, and the machine they ran on."""
