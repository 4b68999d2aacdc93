"""What is given: instances, laws, plans; and what an epoch costs and gains."""
