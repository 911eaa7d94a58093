"""Search spaces: distributions, encoders, conditions, pools."""
