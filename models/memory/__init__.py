"""Laws of the loss with memory, fitted to traces: their data, what they predict, plans under them."""
