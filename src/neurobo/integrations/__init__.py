"""Other people's engines and studies."""
