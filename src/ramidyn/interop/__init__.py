"""Ramidyn inside other libraries, each imported only when it is used."""
