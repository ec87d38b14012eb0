"""What commands print and where their results go."""
