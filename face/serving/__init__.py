"""`layoutc plan`: a whole model served, from what was asked to tables, drawings and pages."""
