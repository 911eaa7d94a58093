"""Problems that `neurobo demo` solves."""
