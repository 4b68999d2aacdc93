"""The numbers of one plan, under laws with memory too."""
