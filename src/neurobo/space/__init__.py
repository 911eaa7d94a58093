"""Search spaces: distributions, encoders, pools."""
