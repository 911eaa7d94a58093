"""Everything neurobo raises on purpose. Messages say the rule, then what was given."""


class NeuroboError(Exception):
    """Root of all errors raised by neurobo."""


class InvalidInput(NeuroboError, ValueError):
    """An argument breaks a rule; raised before any heavy work."""


class SpaceExhausted(NeuroboError):
    """Every point of a finite search space is evaluated or pending."""


class EvaluationFailed(NeuroboError):
    """The objective returned something that is not a finite number."""
