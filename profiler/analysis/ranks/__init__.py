"""Several ranks judged together: one small summary per rank (summary.py), and what follows from all of them (joint.py)."""
