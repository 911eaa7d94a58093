"""Search spaces: distributions, encoders, conditions, pools, known input constraints."""
