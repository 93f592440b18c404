"""Where tasks come from: folders of tables, OpenML, synthetic priors; and episodes drawn from them."""
