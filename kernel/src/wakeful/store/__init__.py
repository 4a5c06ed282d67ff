"""The store: tables, transactions, migrations and large contents. Importing this loads nothing else."""
