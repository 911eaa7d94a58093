"""`auto`: a portfolio of members that take turns."""
