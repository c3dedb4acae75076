"""Figures: the only place where anything is drawn."""
