"""The simulated CANN stack: facade, runtime, driver, devices, graph engine; and the facts all parts share."""
