"""The demo's problem: tune a controller for a heated tank with a long pipe to its sensor.

The tank is a first-order process with dead time and a limited heater. It is brought from 20 °C to
60 °C, then disturbed by cold inflow. The objective is the mean absolute temperature error in °C,
plus penalties for overshoot and for wear of the valve, so lower is better.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from neurobo.space.distributions import categorical, float_range, int_range

SPACE = {
    "gain": float_range(0.2, 50.0, log=True),
    "integral_time": float_range(5.0, 1000.0, log=True),
    "derivative_time": float_range(0.0, 40.0),
    "filter_time": float_range(1.0, 20.0, log=True),
    "sample_every": int_range(1, 10),
    "anti_windup": categorical(["none", "clamp", "back-calculation"]),
}

TEXTBOOK = {
    "gain": 5.8,
    "integral_time": 40.0,
    "derivative_time": 10.0,
    "filter_time": 1.0,
    "sample_every": 1,
    "anti_windup": "clamp",
}
"""Ziegler-Nichols' rule from the tank's step response: 1.2 τ/(K θ), 2 θ, θ/2."""


def tank(p: dict[str, Any]) -> float:
    """Mean absolute error of 1500 s under the controller `p`, with penalties."""
    seconds, time_constant, dead_time, ambient, celsius_per_percent = 1500, 120, 20, 20.0, 1.25
    pipe = deque([ambient] * dead_time)
    temperature = filtered = last = ambient
    integral = heater = worn = error_sum = overshoot = 0.0
    for second in range(seconds):
        target = 60.0 if second >= 10 else ambient
        pipe.append(temperature)
        measured = pipe.popleft()
        filtered += (measured - filtered) / p["filter_time"]
        if second % p["sample_every"] == 0:
            step = float(p["sample_every"])
            error = target - filtered
            slope = (filtered - last) / step
            last = filtered
            wanted = p["gain"] * (error - p["derivative_time"] * slope) + integral
            limited = min(max(wanted, 0.0), 100.0)
            growth = p["gain"] * error * step / p["integral_time"]
            if p["anti_windup"] == "back-calculation":
                growth += (limited - wanted) * step / p["integral_time"]
            if not (p["anti_windup"] == "clamp" and wanted != limited and growth * wanted > 0):
                integral += growth
            worn += abs(limited - heater)
            heater = limited
        inflow = -12.0 if 700 <= second < 900 else 0.0
        drive = ambient + celsius_per_percent * heater + inflow
        temperature += (drive - temperature) / time_constant
        error_sum += abs(60.0 - temperature) if second >= 10 else 0.0
        overshoot = max(overshoot, temperature - 60.0)
    return error_sum / seconds + 0.5 * max(overshoot - 1.0, 0.0) + 0.0005 * worn
