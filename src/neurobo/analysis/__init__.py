"""What a study says: recommendation, predictions, plots."""
