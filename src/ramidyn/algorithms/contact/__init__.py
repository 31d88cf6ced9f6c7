"""Hard constraints: contacts with friction, limits and dry friction as one problem."""
