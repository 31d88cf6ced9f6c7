def quantities_of(names): return []
