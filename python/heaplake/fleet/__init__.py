"""A fleet: the hosts whose runs a lake holds.

- `python -m heaplake.fleet analyze`, or `heaplake fleet analyze`: one task of Ray for each snapshot
- `heaplake.fleet.spark`: views over a lake and rollups in PySpark

Neither Ray nor PySpark is imported before it is used: `pip install 'heaplake[ray]'` or `'heaplake[spark]'` brings them.
"""
