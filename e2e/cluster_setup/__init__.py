"""How e2e/cluster builds its cluster; one file for each thing that it consists of."""
