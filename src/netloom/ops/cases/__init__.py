"""What people and other systems do about cases: acts, maintenance, alerts, tickets, who leads."""
