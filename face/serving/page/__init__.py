"""A study as one page of HTML that needs nothing but itself."""
