"""How programs are compiled against labels."""
