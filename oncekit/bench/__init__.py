"""`make bench`: what each path costs, counted from real runs, beside Powertools doing the same work in the same run."""
