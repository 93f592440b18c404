"""Small tools that know nothing of tables or networks."""
