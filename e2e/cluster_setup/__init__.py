"""How e2e/cluster builds its cluster; one file for each of its parts."""
