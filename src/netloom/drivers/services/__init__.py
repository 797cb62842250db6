"""Services that a watch tells of cases, and the database that two watches share."""
