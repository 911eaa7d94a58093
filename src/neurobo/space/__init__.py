"""Search spaces: distributions, encoders, pools, known input constraints."""
