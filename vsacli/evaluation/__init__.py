"""Episodes x methods -> records, figures and statistics."""
