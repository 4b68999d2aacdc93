"""What single cases stand on."""
