"""What was observed: trials in the user's terms, observations in the core's."""
