"""What the studies that sweep ask: instances of every size, methods of the claims alone, measures."""
