"""How well faults fit what was seen: who crosses what, what each flow should see, and scores."""
